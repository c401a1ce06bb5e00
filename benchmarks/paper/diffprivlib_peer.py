"""Objective perturbation for logistic regression by diffprivlib, in an environment of its own.

Called as a script: ``python diffprivlib_peer.py in.npz out.npz``. Imports nothing of this project.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np


def main(source: str, target: str) -> None:
    from diffprivlib.models import LogisticRegression  # type: ignore[import-not-found]

    warnings.simplefilter("ignore")
    with np.load(source) as given:
        rows, labels, tests, truth = given["rows"], given["labels"], given["tests"], given["truth"]
        lambdas, epsilon, draws, seed = (
            given["lambdas"],
            float(given["epsilon"]),
            int(given["draws"]),
            int(given["seed"]),
        )
    found = np.zeros((len(lambdas), draws))
    for i, regulariser in enumerate(lambdas):
        for draw in range(draws):
            # Its objective is mean loss + |w|^2 / (2 C n): C = 1 / (n lambda). The constant feature is among the rows.
            model = LogisticRegression(
                epsilon=epsilon, data_norm=1.0, C=1 / (len(rows) * regulariser), fit_intercept=False, max_iter=500,
                tol=1e-6, random_state=1000 * seed + draw,
            )  # fmt: skip
            found[i, draw] = model.fit(rows, labels).score(tests, truth)
    np.savez(target, accuracy=found.mean(axis=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
