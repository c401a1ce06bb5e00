"""Tables in which every pair of numbers depends: what is kept of their correlations.

    python -m benchmarks.dense [--runs 3] [--tables gauss10 gauss30 factors20] [--epsilons 0.2 1 5] [--models ...]

The tables are made here from a seed: standard normals with all correlations .8 (``gauss10``, ``gauss30``), and
20 normals of five random factors (``factors20``). 30,000 rows are fitted at delta 1e-5 with declared ranges;
30,000 others judge. Printed for each model: mean total variation distance of pairs and of 200 triples (16 and 5
quantile bins), the mean correlation over the true one, and the R^2 on unseen real rows of a linear regression of
the first column on the others, fitted to synthetic rows. ``rows`` are other real rows: the limit.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import warnings

import numpy as np
import pandas as pd

from sdv_plausible import PlausibleDeniabilitySynthesizer, metadata_of

ROWS, DELTA, TRIPLES = 30_000, 1e-5, 200
END = 6.0  # of the declared range


def covariance(name: str) -> np.ndarray:
    """Correlations of a table."""
    columns = int(name[-2:])
    if name.startswith("gauss"):
        return 0.8 * np.ones((columns, columns)) + 0.2 * np.eye(columns)
    loadings = np.random.default_rng(11).normal(size=(columns, 5))
    loadings /= np.linalg.norm(loadings, axis=1, keepdims=True)
    found = 0.9 * loadings @ loadings.T
    np.fill_diagonal(found, 1.0)
    return found


def tables(name: str) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Rows to fit, rows that judge, and further rows as the limit."""
    root = np.linalg.cholesky(covariance(name))
    rng = np.random.default_rng(5)
    names = [f"x{i}" for i in range(len(root))]
    fitted, judges, limit = (
        pd.DataFrame(np.clip(rng.normal(size=(ROWS, len(root))) @ root.T, -END, END).round(4), columns=names)
        for _ in range(3)
    )
    return fitted, judges, limit


def distance(real: pd.DataFrame, synthetic: pd.DataFrame, size: int, bins: int) -> float:
    """Mean total variation distance over sets of columns, in quantile bins of the real rows."""
    edges = {c: np.quantile(real[c], np.linspace(0, 1, bins + 1)[1:-1]) for c in real}
    first, second = ({c: np.searchsorted(edges[c], t[c]) for c in real} for t in (real, synthetic))
    sets = list(itertools.combinations(real.columns, size))
    if len(sets) > TRIPLES and size > 2:
        sets = [sets[i] for i in np.random.default_rng(1).choice(len(sets), TRIPLES, replace=False)]
    found = []
    for chosen in sets:
        counts = [
            np.bincount(np.ravel_multi_index([codes[c] for c in chosen], [bins] * size), minlength=bins**size)
            for codes in (first, second)
        ]
        found.append(np.abs(counts[0] / len(real) - counts[1] / len(synthetic)).sum() / 2)
    return float(np.mean(found))


def kept(real: pd.DataFrame, synthetic: pd.DataFrame) -> float:
    """Synthetic correlations over true ones: slope of a regression through the origin."""
    above = np.triu_indices(real.shape[1], 1)
    truth, found = (np.corrcoef(t.to_numpy(float).T)[above] for t in (real, synthetic))
    return float(truth @ found / (truth @ truth))


def regression(real: pd.DataFrame, synthetic: pd.DataFrame) -> float:
    """R^2 on real rows of a linear regression that was fitted to synthetic rows."""
    y, *x = (synthetic[c].to_numpy(float) for c in synthetic)
    weights = np.linalg.lstsq(np.column_stack([np.ones(len(y)), *x]), y, rcond=None)[0]
    y, *x = (real[c].to_numpy(float) for c in real)
    off = y - np.column_stack([np.ones(len(y)), *x]) @ weights
    return float(1 - off.var() / y.var())


def score(real: pd.DataFrame, synthetic: pd.DataFrame) -> dict[str, float]:
    """All figures."""
    return {
        "pairs": distance(real, synthetic, 2, 16),
        "triples": distance(real, synthetic, 3, 5),
        "kept": kept(real, synthetic),
        "r2": regression(real, synthetic),
    }


def main() -> None:
    """Print a line for each run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tables", nargs="+", default=["gauss10", "gauss30", "factors20"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.2, 1.0, 5.0])
    parser.add_argument("--models", nargs="+", default=["bayesian_network", "gaussian_copula"])
    options = parser.parse_args()
    for name in options.tables:
        fitted, judges, limit = tables(name)
        print(json.dumps({"table": name, "model": "rows", **score(judges, limit)}), flush=True)
        column = {"sdtype": "numerical", "range_min": -END, "range_max": END, "decimal_places": 4}
        domain = {c: {**column, "range_is_nullable": False} for c in fitted}
        for epsilon, model, run in itertools.product(options.epsilons, options.models, range(options.runs)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                synth = PlausibleDeniabilitySynthesizer(
                    metadata_of(domain),
                    domain=domain,
                    epsilon=epsilon,
                    delta=DELTA,
                    model=model,
                    random_state=run,
                )
                start = time.process_time()
                synth.fit(fitted)
                seconds = time.process_time() - start
            found = score(judges, synth.sample(ROWS))
            line = {
                "table": name,
                "model": model,
                "epsilon": epsilon,
                "run": run,
                "seconds": seconds,
                **found,
            }
            print(
                json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in line.items()}),
                flush=True,
            )


if __name__ == "__main__":
    main()
