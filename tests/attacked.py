"""Synthesizers to attack, from none that tells anything to one that tells everything, and a table for them."""

from __future__ import annotations

import numpy as np
import pandas as pd


def people(rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    income = np.exp(rng.normal(10, 0.6, rows) + (age > 40) * 0.4).round(2)
    job = rng.choice(list("abcdefgh"), rows, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.03, 0.02])
    member = rng.random(rows) < 0.3
    since = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, rows), unit="D")
    return pd.DataFrame({"age": age, "income": income, "job": job, "member": member, "since": since})


class CopyCat:
    """Gives the rows away, each with the same chance."""

    def fit(self, data):
        self.rows = data

    def sample(self, num_rows):
        return self.rows.sample(num_rows, replace=True).reset_index(drop=True)


class Stranger:
    """Never looks at the rows."""

    def fit(self, data):
        pass

    def sample(self, num_rows):
        return people(num_rows, seed=int(np.random.default_rng().integers(2**31)))
