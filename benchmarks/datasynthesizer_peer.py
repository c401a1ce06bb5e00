"""DataSynthesizer in its own environment: ``python datasynthesizer_peer.py data.csv output.csv EPSILON K``.

Runs under an interpreter that has DataSynthesizer and not ours. Prints seconds to describe and to generate as JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd


def main() -> None:
    from DataSynthesizer.DataDescriber import DataDescriber
    from DataSynthesizer.DataGenerator import DataGenerator

    source, target, epsilon, k = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
    table = pd.read_csv(source)
    start = time.perf_counter()
    describer = DataDescriber(category_threshold=50)
    describer.describe_dataset_in_correlated_attribute_mode(
        dataset_file=source, epsilon=epsilon, k=k, attribute_to_is_candidate_key=dict.fromkeys(table, False)
    )
    with tempfile.TemporaryDirectory() as folder:
        description = str(Path(folder) / "description.json")
        describer.save_dataset_description_to_file(description)
        described = time.perf_counter() - start
        generator = DataGenerator()
        generator.generate_dataset_in_correlated_attribute_mode(len(table), description)
        generator.save_synthetic_data(target)
    made = time.perf_counter() - start - described
    print(json.dumps({"describe": described, "generate": made}))


if __name__ == "__main__":
    main()
