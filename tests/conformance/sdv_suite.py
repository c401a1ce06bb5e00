"""A plugin of pytest that points SDV's own tests, in a checkout of SDV, at this package's synthesizer.

Nothing of theirs is here. Wherever a test of theirs makes one of SDV's four single-table synthesizers it gets
ours: with domains read off the rows and without noise, as theirs are, since what is tested is not privacy.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import sdv.datasets.demo
import sdv.multi_table  # before theirs are replaced: it is built of them
import sdv.single_table
from sdv.metadata import Metadata

from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer

THEIRS = {
    "copulas": ("GaussianCopulaSynthesizer",),
    "copulagan": ("CopulaGANSynthesizer",),
    "ctgan": ("CTGANSynthesizer", "TVAESynthesizer"),
}
OF_SDV = ("metadata", "enforce_min_max_values", "enforce_rounding", "locales")


class Ours(PlausibleDeniabilitySynthesizer):
    """Ours, made with the arguments of theirs: those of their models play no part."""

    def __init__(self, metadata: Any, *args: Any, **options: Any) -> None:
        given = dict(zip(OF_SDV[1:], args, strict=False)) | {n: options[n] for n in OF_SDV if n in options}
        super().__init__(metadata, **given, epsilon=math.inf, undeclared="infer")


def demo(modality: str, dataset_name: str, *args: Any, **kwargs: Any) -> tuple[pd.DataFrame, Metadata]:
    """The one demo table of SDV that tests here have; others would be downloaded."""
    path = Path(os.environ["SDV_PLAUSIBLE_DATA"], dataset_name, f"{dataset_name}.csv.gz")
    if modality != "single_table" or not path.exists():
        pytest.skip(f"the demo data {dataset_name} would be downloaded")
    table = pd.read_csv(path)
    for name in ("checkin_date", "checkout_date"):  # as SDV's own copy has them
        table[name] = pd.to_datetime(table[name]).dt.strftime(DAY["datetime_format"])
    return table, Metadata.load_from_dict({"tables": {dataset_name: HOTEL}})


DAY = {"sdtype": "datetime", "datetime_format": "%d %b %Y"}
HOTEL: dict[str, Any] = {
    "primary_key": "guest_email",
    "columns": {
        "guest_email": {"sdtype": "email", "pii": True}, "has_rewards": {"sdtype": "boolean"},
        "room_type": {"sdtype": "categorical"}, "amenities_fee": {"sdtype": "numerical"}, "checkin_date": DAY,
        "checkout_date": DAY, "room_rate": {"sdtype": "numerical"}, "billing_address": {"sdtype": "address", "pii": True},
        "credit_card_number": {"sdtype": "credit_card_number", "pii": True},
    },
}  # fmt: skip

for module, names in THEIRS.items():
    for name in names:
        setattr(sdv.single_table, name, Ours)
        setattr(getattr(sdv.single_table, module), name, Ours)
sdv.datasets.demo.download_demo = demo


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is the same test again, all of SDV's classes being ours, and tables under others."""
    again = ("CTGANSynthesizer", "TVAESynthesizer", "CopulaGANSynthesizer", "Ours1", "Ours2")
    kept = [item for item in items if not any(name in item.name for name in again)]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept
