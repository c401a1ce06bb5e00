"""Two related tables as files, as a holder has them."""

import json
from pathlib import Path

from sdv_plausible.datasets import families_like, families_like_domain, families_like_metadata

NAMES = ("households", "persons")


def write_families(folder: Path, number: int = 60) -> None:
    """Write households.csv, persons.csv, both.json and families.json, the declarations, into a folder."""
    for name, table in families_like(number).items():
        table.to_csv(folder / f"{name}.csv", index=False)
    (folder / "both.json").write_text(json.dumps(families_like_metadata()))
    (folder / "families.json").write_text(json.dumps(families_like_domain()))
