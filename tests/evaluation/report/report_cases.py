"""Settings and helpers of the report's tests."""

import numpy as np
import pandas as pd
from sentences import total

QUICK = {"classifiers": ("tree",), "distinguishers": ("tree",), "num_runs": 2, "max_rows": 400}
STRUCTURE = {"member": ["city"], "grade": ["city", "member"], "city": []}
DIAGNOSTICS = {"plausible_seeds": [1, 5, 60, 900], "pass_rates": {10: {3: 0.9}, 50: {3: 0.4}}}

SENTENCE = total(0.5, 1e-9) + ", for any one row."


class Ledger:
    """A claim that covers the network, or does not; its entry has the same name in either case."""

    def __init__(self, structure=True):
        parts = ["structure"] if structure else ["parameters"]
        self.entries = [
            {
                "name": "structure",
                "mechanism": "noise",
                "epsilon": 0.5,
                "provenance": "charged",
                "scope": "all",
                "parts": parts,
            }
        ]

    def to_dict(self):
        return {"headline": SENTENCE, "entries": self.entries, "not_covered": ["time"]}


def words_of(page):
    """Return the page with every run of white space as one space, as a browser shows it."""
    return " ".join(page.split())


def html_of(report, tmp_path, **options):
    path = tmp_path / "report.html"
    report.to_html(path, **options)
    return path.read_text(encoding="utf-8")


def many_columns(num_columns):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({f"a_column_{i:02d}": rng.choice(["a", "b"], 60) for i in range(num_columns)})
    return table, {"columns": {c: {"sdtype": "categorical"} for c in table}}
