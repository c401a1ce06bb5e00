"""Settings and helpers of the report's tests."""

import numpy as np
import pandas as pd
from sentences import total

from sdv_plausible.evaluation import PlausibleDeniabilityReport

QUICK = {"classifiers": ("tree",), "distinguishers": ("tree",), "num_runs": 2, "max_rows": 400}
STRUCTURE = {"member": ["city"], "grade": ["city", "member"], "city": []}
DIAGNOSTICS = {"plausible_seeds": [1, 5, 60, 900], "pass_rates": {10: {3: 0.9}, 50: {3: 0.4}}}

SENTENCE = total(0.5, 1e-9) + ", for any one row."


class Ledger:
    """A claim that covers the network, or does not; its entry has the same name in either case."""

    def __init__(self, structure=True):
        told = {
            "name": "structure",
            "mechanism": "noise",
            "epsilon": 0.5,
            "provenance": "charged",
            "scope": "all",
        }
        self.entries = [{**told, "parts": ["structure"] if structure else ["parameters"]}]

    def to_dict(self):
        return {"headline": SENTENCE, "entries": self.entries, "not_covered": ["time"]}


def words_of(page):
    """Return the page with every run of white space as one space, as a browser shows it."""
    return " ".join(page.split())


def html_of(report, tmp_path, **options):
    path = tmp_path / "report.html"
    report.to_html(path, **options)
    return path.read_text(encoding="utf-8")


def generated_report(real, synthetic, metadata, **options):
    """A report of two tables, with quick settings but for those that are given."""
    report = PlausibleDeniabilityReport(**{**QUICK, **options})
    report.generate(real, synthetic, metadata, verbose=False)
    return report


def categories(names):
    return {"columns": {name: {"sdtype": "categorical"} for name in names}}


def many_columns(num_columns):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({f"a_column_{i:02d}": rng.choice(["a", "b"], 60) for i in range(num_columns)})
    return table, categories(table)
