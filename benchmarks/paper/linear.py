"""Table 4: logistic regression and linear SVM, private on real rows or plain on released ones."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.environments import interpreter
from benchmarks.paper.private_linear import (
    HUBER,
    LOGISTIC,
    minimise,
    objective_perturbation,
    output_perturbation,
)
from benchmarks.paper.settings import LAMBDAS, NOISE_DRAWS, SYNTHETIC, TARGET, Row
from benchmarks.paper.store import Store
from benchmarks.paper.synthesis import Study
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

EPSILON = 1.0
OBJECTIVE_DRAWS = 3
NUMBERS = (0, 8)  # age and hours enter as numbers in [0, 1], the rest as indicators
LOSSES = {"LR": LOGISTIC, "SVM": HUBER}
# The newest scikit-learn that diffprivlib 0.6.6 can be imported with is not the project's: hence the environment.
REQUIREMENTS = ("diffprivlib==0.6.6", "scikit-learn==1.6.1")


def features(
    codes: np.ndarray, cardinalities: tuple[int, ...], *, by_width: bool = False
) -> sparse.csr_matrix:
    """Indicators, two numbers and a constant, every row of norm at most 1 by construction; shape (n, d), sparse.

    All are divided by the root of the number of attributes, or of the number d of features: that much any row of
    features in [0, 1] allows, and the paper's numbers fit it.
    """
    blocks = [sparse.csr_matrix(np.ones((len(codes), 1)))]
    for j, size in enumerate(cardinalities):
        if j == TARGET:
            continue
        if j in NUMBERS:
            blocks.append(sparse.csr_matrix(codes[:, [j]] / (size - 1)))
        else:
            ones, rows = np.ones(len(codes)), np.arange(len(codes))
            blocks.append(sparse.csr_matrix((ones, (rows, codes[:, j])), shape=(len(codes), size)))
    joined = sparse.hstack(blocks, format="csr")
    return joined / np.sqrt(joined.shape[1] if by_width else len(blocks))


@dataclass(frozen=True, kw_only=True)
class Contest:
    """Linear classifiers trained on the same rows and tested on the same unseen ones, for every lambda.

    Parameters
    ----------
    rows, labels : sparse matrix (n, d) and ndarray (n,)
        Training rows, and -1 or 1.
    test, truth : sparse matrix and ndarray
        Unseen rows.
    coins : Coins
        Of the perturbations.
    """

    rows: sparse.csr_matrix
    labels: np.ndarray
    test: sparse.csr_matrix
    truth: np.ndarray
    rng: KeyedRNG

    @cached_property
    def fitted(self) -> dict[tuple[str, float], np.ndarray]:
        """Classifiers without noise."""
        return {
            (n, lam): minimise(self.rows, self.labels, lam, loss)
            for n, loss in LOSSES.items()
            for lam in LAMBDAS
        }

    def score(self, f: np.ndarray) -> float:
        """Share of the unseen rows named right."""
        return float((np.where(self.test @ f > 0, 1.0, -1.0) == self.truth).mean())

    def plain(self) -> dict[str, Any]:
        """Accuracies without noise."""
        return self._by_lambda(lambda name, lam: self.score(self.fitted[name, lam]))

    def output(self) -> dict[str, Any]:
        """Accuracies under output perturbation, means over draws and their standard deviations."""
        found: dict[str, list[np.ndarray]] = {}
        for name, loss in LOSSES.items():
            found[name] = []
            for lam in LAMBDAS:
                given = (self.rows, self.labels, lam, EPSILON, loss, self.rng, self.fitted[name, lam])
                draws = [self.score(output_perturbation(*given)) for _ in range(NOISE_DRAWS)]
                found[name].append(np.array(draws))
        means = {name: [float(d.mean()) for d in draws] for name, draws in found.items()}
        return means | {f"{n} of one draw": [float(d.std(ddof=1)) for d in ds] for n, ds in found.items()}

    def objective(self) -> dict[str, Any]:
        """Accuracies under objective perturbation, means over draws."""

        def draw(name: str, lam: float) -> float:
            given = (self.rows, self.labels, lam, EPSILON, LOSSES[name], self.rng, self.fitted[name, lam])
            return float(
                np.mean([self.score(objective_perturbation(*given)) for _ in range(OBJECTIVE_DRAWS)])
            )

        return self._by_lambda(draw)

    @staticmethod
    def _by_lambda(accuracy: Callable[[str, float], float]) -> dict[str, Any]:
        return {name: [accuracy(name, lam) for lam in LAMBDAS] for name in LOSSES}


def table4(study: Study, store: Store, *, with_peer: bool) -> None:
    """Accuracy on unseen rows, for every lambda: by our rule, and by the paper's.

    Ours: every method with its own best lambda, rows divided by the root of the number of attributes. The paper's: the
    best lambda of the classifier that is not private for all of them, rows divided by the root of the number of features.
    """
    _by_our_rule(study, store, with_peer=with_peer)
    _by_the_papers_rule(study, store)


def _contest(study: Study, codes: np.ndarray, *, by_width: bool) -> Contest:
    split = study.split

    def prepared(codes: np.ndarray) -> tuple[sparse.csr_matrix, np.ndarray]:
        found = features(codes, split.cardinalities, by_width=by_width)
        return found, np.where(codes[:, TARGET] > 0, 1.0, -1.0)

    (rows, labels), (test, truth) = prepared(codes), prepared(split.unseen[: study.sizes.tested])
    rng = study.rng.spawn("table4", len(codes), by_width)
    return Contest(rows=rows, labels=labels, test=test, truth=truth, rng=rng)


def _real(study: Study) -> np.ndarray:
    split = study.split
    return np.concatenate([split.seeds, split.parameters, split.structure])


def _by_the_papers_rule(study: Study, store: Store) -> None:
    item, repeat = "table4 printed", study.repeat
    full = _contest(study, _real(study)[: study.sizes.linear_printed], by_width=True)
    store.once(item, "not private", repeat, full.plain)
    store.once(item, "output perturbation", repeat, full.output)
    store.once(item, "objective perturbation", repeat, full.objective)
    for row in SYNTHETIC:

        def plain(row: Row = row) -> dict[str, Any]:
            return _contest(study, study.released(row), by_width=True).plain()

        store.once(item, row.name, repeat, plain)


def _by_our_rule(study: Study, store: Store, *, with_peer: bool) -> None:
    def contest(codes: np.ndarray) -> Contest:
        return _contest(study, codes, by_width=False)

    repeat = study.repeat
    full = contest(_real(study)[: study.sizes.linear])
    store.once("table4", "not private", repeat, full.plain)
    store.once("table4", "output perturbation", repeat, full.output)
    store.once("table4", "objective perturbation", repeat, full.objective)
    if with_peer and (python := peer_python()) is not None:
        store.once(
            "table4",
            "objective perturbation (diffprivlib)",
            repeat,
            partial(_by_diffprivlib, python, full, repeat),
        )
    for row in SYNTHETIC:
        store.once("table4", row.name, repeat, lambda row=row: contest(study.released(row)).plain())  # type: ignore[misc]


def peer_python() -> Path | None:
    """Interpreter with diffprivlib, installed on first use; None, with a message, where that fails."""
    try:
        return interpreter("diffprivlib", *REQUIREMENTS)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"diffprivlib could not be installed ({error}): its row of table 4 is left out")
        return None


def _by_diffprivlib(python: Path, full: Contest, seed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.npz", Path(folder) / "out.npz"
        np.savez(
            source, rows=full.rows.toarray(), labels=full.labels, tests=full.test.toarray(), truth=full.truth,
            lambdas=LAMBDAS, epsilon=EPSILON, draws=OBJECTIVE_DRAWS, seed=seed,
        )  # fmt: skip
        subprocess.run([python, Path(__file__).with_name("diffprivlib_peer.py"), source, target], check=True)
        with np.load(target) as made:
            return {"LR": [float(a) for a in made["accuracy"]]}
