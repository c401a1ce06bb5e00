"""Singling out and linkability by anonymeter (Giomi et al. 2023), in a Python environment of its own.

Anonymeter is no requirement of this package. Where another Python has it, it is run there, on copies of the
three tables in a folder that is deleted afterwards.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from sdv_plausible.utils.atomic_files import part_folder

SCRIPT = """
import json, sys
import pandas as pd
from anonymeter.evaluators import LinkabilityEvaluator, SinglingOutEvaluator

folder, attacks, level, split = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
real, control, synthetic = (pd.read_csv(f"{folder}/{n}.csv") for n in ("real", "control", "synthetic"))
columns = list(real.columns)
tables = {"ori": real, "syn": synthetic, "control": control}
single = SinglingOutEvaluator(**tables, n_attacks=attacks, n_cols=min(4, len(columns)))
single.evaluate(mode="multivariate")
link = LinkabilityEvaluator(
    **tables, n_attacks=min(attacks, len(control)),
    aux_cols=(columns[:split], columns[split:]), n_neighbors=10,
)
link.evaluate(n_jobs=1)
told = {}
for name, evaluator in (("singling out", single), ("linkability", link)):
    risk, rates = evaluator.risk(confidence_level=level), evaluator.results(confidence_level=level)
    told[name] = {
        "risk": risk.value, "low": risk.ci[0], "high": risk.ci[1],
        "members": rates.attack_rate.value, "others": rates.control_rate.value,
    }
print("RESULT" + json.dumps(told))
"""


@dataclass(frozen=True, kw_only=True)
class AnonymeterRisk:
    """A risk as anonymeter measures it.

    Attributes
    ----------
    threat : str
        "singling out" or "linkability".
    risk, low, high : float
        Success beyond that against people who were not in the table, of what was left to gain; its
        confidence interval.
    members, others : float
        Success against people in the table, and against others.
    """

    threat: str
    risk: float
    low: float
    high: float
    members: float
    others: float

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes."""
        return asdict(self)


def anonymeter_risks(
    real: pd.DataFrame,
    control: pd.DataFrame,
    synthetic: pd.DataFrame,
    *,
    python: str | Path = sys.executable,
    attacks: int = 300,
    confidence: float = 0.95,
    seconds: float = 600.0,
) -> tuple[AnonymeterRisk, ...]:
    """Singling out and linkability of synthetic rows.

    Parameters
    ----------
    real, control, synthetic : DataFrame
        Rows that were fitted, others of the same population, and what was made; at least two columns.
    python : str or Path
        Interpreter of an environment that has anonymeter and pandas.
    attacks : int
        Guesses of each kind.
    confidence : float
        Of the intervals.
    seconds : float
        After which it is given up.

    Raises
    ------
    ModuleNotFoundError
        If that Python has no anonymeter.
    """
    isolated = [str(python), "-I"]  # nothing is imported from the current folder, in any version of Python
    asked = subprocess.run(
        [*isolated, "-c", "import anonymeter, pandas"], capture_output=True, check=False, timeout=120
    )  # fmt: skip
    if asked.returncode:
        raise ModuleNotFoundError(
            f"python ({python}) has no anonymeter: make an environment of its own (python -m venv there; "
            "there/bin/pip install anonymeter) and give python='there/bin/python'"
        )
    with part_folder(Path(tempfile.gettempdir())) as folder:  # rows: also a killed audit's go, with the next
        for name, frame in (("real", real), ("control", control), ("synthetic", synthetic)):
            plain = pd.DataFrame({str(c): _plain(frame[c]) for c in frame.columns})
            plain.to_csv(folder / f"{name}.csv", index=False)
        arguments = [str(folder), str(attacks), str(confidence), str(max(1, len(real.columns) // 2))]
        done = subprocess.run(
            [*isolated, "-W", "ignore", "-c", SCRIPT, *arguments],
            capture_output=True, text=True, check=False, timeout=seconds,
        )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    if not lines:
        kind = (done.stderr.strip().splitlines() or ["no message"])[-1].split(":")[0]
        raise RuntimeError(f"anonymeter failed ({kind}); try fewer attacks, now {attacks}")
    told = json.loads(lines[0].removeprefix("RESULT"))
    return tuple(AnonymeterRisk(threat=threat, **figures) for threat, figures in told.items())


def _plain(column: pd.Series[Any]) -> pd.Series[Any]:
    """Numbers as they are, everything else as text: what both Pythons read alike."""
    types = pd.api.types
    is_number = types.is_numeric_dtype(column) and not types.is_bool_dtype(column)
    return column if is_number else column.astype(str)
