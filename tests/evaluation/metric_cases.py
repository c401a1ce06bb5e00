"""Tables and options that tests of the metrics share.

Bounds on accuracies over a test mix of N independent rows are Hoeffding's, ``sqrt(log(2 / ALARM) / (2 N))``: given the
trained classifier, each test is false with probability at most ALARM = 1e-6 over its seed.
"""

import numpy as np
import pandas as pd

ALARM = 1e-6
QUICK = {"num_runs": 1}


def bound(num_rows):
    return np.sqrt(np.log(2 / ALARM) / (2 * num_rows))


def categorical_table(num_rows, seed, num_columns=4):
    """Columns of 2, 3, ... values, each depending on the one before."""
    rng = np.random.default_rng(seed)
    columns, last = {}, np.zeros(num_rows, dtype=int)
    for j in range(num_columns):
        last = (last + (rng.random(num_rows) < 0.3) * rng.integers(0, j + 2, num_rows)) % (j + 2)
        columns[f"c{j}"] = np.array([f"v{v}" for v in range(j + 2)], dtype=object)[last]
    return pd.DataFrame(columns)
