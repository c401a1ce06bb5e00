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
from benchmarks.paper.settings import LAMBDAS, NOISE_DRAWS, SYNTHETIC, TARGET
from benchmarks.paper.store import Store
from benchmarks.paper.synthesis import Study
from sdv_plausible.privacy.noise.coins import Coins

EPSILON = 1.0
OBJECTIVE_DRAWS = 3
NUMBERS = (0, 8)  # age and hours enter as numbers in [0, 1], the rest as indicators
LOSSES = {"LR": LOGISTIC, "SVM": HUBER}
# The newest scikit-learn that diffprivlib 0.6.6 can be imported with is not the project's: hence the environment.
REQUIREMENTS = ("diffprivlib==0.6.6", "scikit-learn==1.6.1")


def features(codes: np.ndarray, cardinalities: tuple[int, ...]) -> sparse.csr_matrix:
    """Indicators, two numbers and a constant, every row of norm at most 1 by construction; shape (n, d), sparse."""
    blocks = [sparse.csr_matrix(np.ones((len(codes), 1)))]
    for j, size in enumerate(cardinalities):
        if j == TARGET:
            continue
        if j in NUMBERS:
            blocks.append(sparse.csr_matrix(codes[:, [j]] / (size - 1)))
        else:
            ones, rows = np.ones(len(codes)), np.arange(len(codes))
            blocks.append(sparse.csr_matrix((ones, (rows, codes[:, j])), shape=(len(codes), size)))
    return sparse.hstack(blocks, format="csr") / np.sqrt(len(blocks))


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
    coins: Coins

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
        """Accuracies under output perturbation, means over draws."""

        def draw(name: str, lam: float) -> float:
            given = (self.rows, self.labels, lam, EPSILON, LOSSES[name], self.coins, self.fitted[name, lam])
            return float(np.mean([self.score(output_perturbation(*given)) for _ in range(NOISE_DRAWS)]))

        return self._by_lambda(draw)

    def objective(self) -> dict[str, Any]:
        """Accuracies under objective perturbation, means over draws."""

        def draw(name: str, lam: float) -> float:
            given = (self.rows, self.labels, lam, EPSILON, LOSSES[name], self.coins, self.fitted[name, lam])
            return float(
                np.mean([self.score(objective_perturbation(*given)) for _ in range(OBJECTIVE_DRAWS)])
            )

        return self._by_lambda(draw)

    @staticmethod
    def _by_lambda(accuracy: Callable[[str, float], float]) -> dict[str, Any]:
        return {name: [accuracy(name, lam) for lam in LAMBDAS] for name in LOSSES}


def table4(study: Study, store: Store, *, with_peer: bool) -> None:
    """Accuracy on unseen rows, for every lambda; the report takes the best lambda of each method."""
    split, sizes = study.split, study.sizes

    def prepared(codes: np.ndarray) -> tuple[sparse.csr_matrix, np.ndarray]:
        return features(codes, split.cardinalities), np.where(codes[:, TARGET] > 0, 1.0, -1.0)

    test, truth = prepared(split.unseen[: sizes.tested])

    def contest(codes: np.ndarray) -> Contest:
        rows, labels = prepared(codes)
        return Contest(
            rows=rows, labels=labels, test=test, truth=truth, coins=study.coins.spawn("table4", len(codes))
        )

    real, repeat = (
        np.concatenate([split.seeds, split.parameters, split.structure])[: sizes.linear],
        study.repeat,
    )
    full = contest(real)
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
    few = contest(real[: sizes.linear_few])
    store.once("table4", f"not private, {sizes.linear_few:,} rows", repeat, few.plain)
    store.once("table4", f"output perturbation, {sizes.linear_few:,} rows", repeat, few.output)
    store.once("table4", f"objective perturbation, {sizes.linear_few:,} rows", repeat, few.objective)


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
