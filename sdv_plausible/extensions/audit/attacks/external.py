"""Singling out and linkability with anonymeter (Giomi et al. 2023), in a separate Python environment.

Anonymeter is not a dependency of this package. It runs in another Python that has it, on copies of the three
tables in a folder that is deleted afterwards.
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
results = {}
for name, evaluator in (("singling out", single), ("linkability", link)):
    risk, rates = evaluator.risk(confidence_level=level), evaluator.results(confidence_level=level)
    results[name] = {
        "risk": risk.value, "low": risk.ci[0], "high": risk.ci[1],
        "members": rates.attack_rate.value, "others": rates.control_rate.value,
    }
print("RESULT" + json.dumps(results))
"""


@dataclass(frozen=True, kw_only=True)
class AnonymeterRisk:
    """A risk measured by anonymeter.

    Attributes
    ----------
    threat : str
        "singling out" or "linkability".
    risk, low, high : float
        Excess success over that against people outside the table, as a share of what could be gained, and its
        confidence interval.
    members, others : float
        Success rate against people in the table, and against others.
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
    """Measure singling out and linkability of synthetic rows.

    Parameters
    ----------
    real, control, synthetic : DataFrame
        Fitted rows, other rows of the same population, and synthetic rows; at least two columns.
    python : str or Path
        Interpreter of an environment with anonymeter and pandas.
    attacks : int
        Number of guesses of each kind.
    confidence : float
        Confidence level of the intervals.
    seconds : float
        Time limit.

    Returns
    -------
    tuple of AnonymeterRisk
        Both risks.

    Raises
    ------
    ModuleNotFoundError
        If that Python has no anonymeter.
    RuntimeError
        If anonymeter fails.
    """
    isolated = [str(python), "-I"]  # ignore the current folder and user settings
    check = subprocess.run(
        [*isolated, "-c", "import anonymeter, pandas"], capture_output=True, check=False, timeout=120
    )  # fmt: skip
    if check.returncode:
        raise ModuleNotFoundError(
            f"python ({python}) has no anonymeter: make an environment of its own (python -m venv there; "
            "there/bin/pip install anonymeter) and give python='there/bin/python'"
        )
    with part_folder(
        Path(tempfile.gettempdir())
    ) as folder:  # the next audit removes the rows of a killed one
        for name, frame in (("real", real), ("control", control), ("synthetic", synthetic)):
            csv_frame = pd.DataFrame({str(c): _plain(frame[c]) for c in frame.columns})
            csv_frame.to_csv(folder / f"{name}.csv", index=False)
        arguments = [str(folder), str(attacks), str(confidence), str(max(1, len(real.columns) // 2))]
        process = subprocess.run(
            [*isolated, "-W", "ignore", "-c", SCRIPT, *arguments],
            capture_output=True, text=True, check=False, timeout=seconds,
        )  # fmt: skip
    lines = [line for line in process.stdout.splitlines() if line.startswith("RESULT")]
    if not lines:
        kind = (process.stderr.strip().splitlines() or ["no message"])[-1].split(":")[0]
        raise RuntimeError(f"anonymeter failed ({kind}); try fewer attacks, now {attacks}")
    results = json.loads(lines[0].removeprefix("RESULT"))
    return tuple(AnonymeterRisk(threat=threat, **figures) for threat, figures in results.items())


def _plain(column: pd.Series[Any]) -> pd.Series[Any]:
    """Keep numbers and convert all else to text, which both Pythons read alike."""
    types = pd.api.types
    is_number = types.is_numeric_dtype(column) and not types.is_bool_dtype(column)
    return column if is_number else column.astype(str)
