"""google/dpsynth's relational mode in its own environment: ``python related_peer.py FOLDER MECHANISM EPSILON DELTA``.

Runs under an interpreter that has dpsynth and not ours. The folder has ``told.json`` (domain and relationship) and a CSV
file for each table; the tables that are made are put beside, and the seconds printed as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd


def attribute(spec: dict[str, Any]) -> Any:
    """A column in its words: numbers are discretized by it."""
    import dpsynth

    if spec["sdtype"] == "categorical":
        return dpsynth.CategoricalAttribute(possible_values=spec["range_values"])
    return dpsynth.NumericalAttribute(
        min_value=spec["range_min"], max_value=spec["range_max"], dtype="int", interval_handling="sample"
    )


def main() -> None:
    import dpsynth
    from dpsynth import discrete_mechanisms as mechanisms

    folder, mechanism, epsilon, delta = Path(sys.argv[1]), sys.argv[2], *map(float, sys.argv[3:5])
    told = json.loads((folder / "told.json").read_text())
    tables = {name: pd.read_csv(folder / f"{name}.csv") for name in told["domain"]}
    inner = {"dpsynth-mst": mechanisms.MSTConfig, "dpsynth-aim": mechanisms.AIMConfig}[mechanism]
    configure = dpsynth.MultiTableConfig.configure

    def from_more_than_nothing(self: Any, *, zcdp_rho: float, **options: Any) -> Any:
        return configure(self, zcdp_rho=max(zcdp_rho, 1e-12), **options)

    # dp-accounting 0.6.0 looks for the budget from 0 on, which theirs refuses, and has no event of the exponential
    # mechanism, which bins of numbers are found by. dpsynth's own budget takes epsilon^2 / 8 of zero-concentrated privacy for
    # it (NumericalInitializerConfig.configure; Cesar and Rogers 2021). The accountant that it asks for, dp-accounting at
    # b5b0286, charges order alpha min(alpha epsilon^2 / 8 + xi, epsilon) with xi <= 0: at these budgets the same.
    import dp_accounting

    dp_accounting.ExponentialMechanismDpEvent = lambda epsilon: dp_accounting.ZCDpEvent(epsilon**2 / 8)
    dpsynth.MultiTableConfig.configure = from_more_than_nothing
    start = time.perf_counter()
    config = dpsynth.MultiTableConfig(
        domains={
            name: {column: attribute(spec) for column, spec in columns.items()}
            for name, columns in told["domain"].items()
        },
        foreign_keys=[
            dpsynth.ForeignKeyRelation(
                parent_table=told["link"]["parent"],
                parent_primary_key=told["link"]["primary_key"],
                child_table=told["link"]["child"],
                child_foreign_key=told["link"]["foreign_key"],
                max_children_per_parent=told["link"]["most"],
            )
        ],
        discrete_mechanism=inner(),
    )
    made = config.calibrate(epsilon=epsilon, delta=delta)(np.random.default_rng(), tables).synthetic_tables
    seconds = time.perf_counter() - start
    for name, table in made.items():
        table.to_csv(folder / f"made_{name}.csv", index=False)
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
