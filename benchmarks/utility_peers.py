"""One peer, in its own environment: ``python utility_peers.py METHOD input.npz output.npz``.

Runs under an interpreter that has the peer's package and not ours; only numpy and pandas are shared. The input holds codes,
cardinalities, ordered, epsilon, delta; the output synthetic codes and seconds to fit.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd


def dpmm(
    method: str, table: pd.DataFrame, cards: list[int], ordered: list[bool], epsilon: float, delta: float
) -> tuple:
    """MST, AIM and PrivBayes of the package dpmm, on integer codes."""
    from dpmm.models.aim import AIMGM
    from dpmm.models.mst import MSTGM
    from dpmm.models.priv_bayes import PrivBayesGM

    options = {"aim": {"max_model_size": 80, "n_iters": 1000}, "mst": {}, "privbayes": {}}[method]
    made = {"aim": AIMGM, "mst": MSTGM, "privbayes": PrivBayesGM}[method](
        epsilon=epsilon, delta=delta, n_jobs=1, **options
    )
    made.set_random_state(np.random.RandomState(int.from_bytes(np.random.bytes(4), "big") % 2**31))
    made.set_domain(domain=dict(zip(table.columns, cards, strict=True)))
    start = time.perf_counter()
    made.fit(table)
    seconds = time.perf_counter() - start
    return made.generate(n_records=len(table))[table.columns].to_numpy(), seconds


def datasynthesizer(
    table: pd.DataFrame, cards: list[int], ordered: list[bool], epsilon: float, delta: float
) -> tuple:
    """Correlated attribute mode, one parent, every column categorical."""
    from DataSynthesizer.DataDescriber import DataDescriber
    from DataSynthesizer.DataGenerator import DataGenerator

    with tempfile.TemporaryDirectory() as folder:
        path, description = Path(folder) / "data.csv", Path(folder) / "description.json"
        table.to_csv(path, index=False)
        start = time.perf_counter()
        describer = DataDescriber(category_threshold=max(cards) + 1)
        describer.describe_dataset_in_correlated_attribute_mode(
            dataset_file=str(path), epsilon=epsilon, k=1,
            attribute_to_is_categorical=dict.fromkeys(table.columns, True),
            attribute_to_is_candidate_key=dict.fromkeys(table.columns, False),
        )  # fmt: skip
        describer.save_dataset_description_to_file(str(description))
        seconds = time.perf_counter() - start
        generator = DataGenerator()
        generator.generate_dataset_in_correlated_attribute_mode(len(table), str(description))
        rows = generator.synthetic_dataset[table.columns]
        return rows.apply(pd.to_numeric, errors="coerce").fillna(0).to_numpy(), seconds


def main() -> None:
    method, source, target = sys.argv[1:]
    with np.load(source) as given:
        cards, ordered = given["cardinalities"].tolist(), given["ordered"].tolist()
        table = pd.DataFrame(given["codes"], columns=[f"c{j:02d}" for j in range(len(cards))])
        epsilon, delta = float(given["epsilon"]), float(given["delta"])
    run = datasynthesizer if method == "datasynthesizer" else lambda *a: dpmm(method, *a)
    codes, seconds = run(table, cards, ordered, epsilon, delta)
    np.savez(target, codes=np.clip(codes.astype(np.int64), 0, np.array(cards) - 1), seconds=seconds)
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
