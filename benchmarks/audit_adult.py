"""Attacks on synthesizers fitted to adult, a public table: the figures of docs/explanation/audit.md.

Run: python -m benchmarks.audit_adult [--rows 2400] [--seconds 400] [--only NAME ...]

Every synthesizer is audited by ``audit.run`` on the same random rows; finished stages stay in
``benchmarks/results/audit_adult``, so that a run that was broken off goes on. One line per stage goes to
``benchmarks/results_audit.jsonl``. CTGAN has few epochs. Shadow models take many fits: here they attack the control alone. "copy" gives the
rows away, and shows what the attacks find at most.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from sdv.single_table import CTGANSynthesizer, GaussianCopulaSynthesizer

from benchmarks.audit_peers import Peer
from sdv_plausible import PlausibleDeniabilitySynthesizer
from sdv_plausible.extensions import audit
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.utils.atomic_files import write_atomically

HERE = Path(__file__).parent
DATA = Path(os.environ.get("SDV_PLAUSIBLE_DATA", "../shared/data"))
COLUMNS = ["age", "workclass", "education", "marital-status", "occupation", "sex", "hours-per-week", "income"]
EPOCHS = 10


class Copy:
    """Gives the rows away."""

    def fit(self, data: pd.DataFrame) -> None:
        self._rows = data

    def sample(self, num_rows: int) -> pd.DataFrame:
        return self._rows.sample(num_rows, replace=True).reset_index(drop=True)


def adult(rows: int) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Some rows and columns, and what is declared of them."""
    table = pd.read_csv(DATA / "adult" / "adult_train.csv.gz")[COLUMNS]
    told = json.loads((HERE / "domains" / "adult.json").read_text(encoding="utf-8"))
    domain = {name: {**told["metadata"][name], **told["domain"][name]} for name in COLUMNS}
    return table.sample(rows, random_state=0).reset_index(drop=True), domain


def cases(domain: dict[str, Any]) -> dict[str, tuple[Callable[[], Any], dict[str, Any]]]:
    """What is audited, and how."""
    metadata = metadata_from_columns({name: {"sdtype": words["sdtype"]} for name, words in domain.items()})

    def ours(epsilon: float) -> Callable[[], Any]:
        return lambda: PlausibleDeniabilitySynthesizer(metadata, domain=domain, epsilon=epsilon)

    claim = {"ours": True, "delta": 1e-9}
    return {
        "default, epsilon 1": (
            ours(1.0),
            {**claim, "claimed_epsilon": 1.0, "white_box_runs": 4_000, "shadow_runs": 0},
        ),
        "default, epsilon 10": (
            ours(10.0),
            {**claim, "claimed_epsilon": 10.0, "white_box_runs": 40_000, "shadow_runs": 0},
        ),
        "default without noise": (ours(math.inf), {"shadow_runs": 0}),
        "GaussianCopula": (lambda: GaussianCopulaSynthesizer(metadata), {"shadow_runs": 0}),
        "CTGAN": (lambda: CTGANSynthesizer(metadata, epochs=EPOCHS), {"shadow_runs": 0}),
        "DataSynthesizer, epsilon 1": (
            lambda: Peer("datasynthesizer", domain, 1.0, 1e-9),
            {"claimed_epsilon": 1.0, "shadow_runs": 0},
        ),
        "dpmm MST, epsilon 1": (
            lambda: Peer("mst", domain, 1.0, 1e-9),
            {"claimed_epsilon": 1.0, "delta": 1e-9, "shadow_runs": 0},
        ),
        "copy": (Copy, {}),
    }


def main() -> None:
    """Audit and write the lines."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=2400)
    parser.add_argument("--seconds", type=float, default=400.0)
    parser.add_argument("--only", nargs="+", default=None)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    table, domain = adult(options.rows)
    made: dict[str, list[str]] = {}
    for line in (HERE / "results_audit.jsonl").read_text(encoding="utf-8").splitlines():
        made.setdefault(json.loads(line)["synthesizer"], []).append(line)
    for name, (factory, settings) in cases(domain).items():
        if options.only is None or name in options.only:
            folder = HERE / "results" / "audit_adult" / name.replace(" ", "_").replace(",", "")
            found = audit.run(
                table, factory, name=name, public=True, folder=folder, seconds=options.seconds,
                canaries=600, progress=lambda words, name=name: print(f"{name}: {words}", flush=True), **settings,
            )  # fmt: skip
            print(found, flush=True)
            stages = found.publishable()["stages"]
            made[name] = [json.dumps({"synthesizer": name, **stage}) for stage in stages]
    lines = [line for name in made for line in made[name]]
    write_atomically(HERE / "results_audit.jsonl", "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
