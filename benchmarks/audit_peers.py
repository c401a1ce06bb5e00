"""Synthesizers of other packages, each in an environment of its own, with ``fit`` and ``sample`` as an audit calls them."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.environments import interpreter
from benchmarks.utility import PACKAGES, PEERS

HERE = Path(__file__).parent


class Peer:
    """A method of ``utility_peers.py``, on codes of the declared values.

    Parameters
    ----------
    method : str
        One of ``PEERS`` of benchmarks/utility.py.
    domain : mapping
        Declarations of the columns: a list of values, or a range of whole numbers.
    epsilon, delta : float
        What the method is told to spend.
    """

    def __init__(
        self, method: str, domain: Mapping[str, Mapping[str, Any]], epsilon: float, delta: float
    ) -> None:
        self.method, self.epsilon, self.delta = method, epsilon, delta
        self._values = {
            name: list(words.get("range_values") or range(words["range_min"], words["range_max"] + 1))
            for name, words in domain.items()
        }
        self._ordered = ["range_values" not in words for words in domain.values()]
        self._made = pd.DataFrame()

    def fit(self, data: pd.DataFrame) -> None:
        """Learn and draw as many rows as there are; ``sample`` hands them out."""
        codes = np.column_stack([pd.Categorical(data[n], v).codes for n, v in self._values.items()])
        cards = [len(v) for v in self._values.values()]
        python = interpreter(PEERS[self.method], PACKAGES[PEERS[self.method]])
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "in.npz", Path(folder) / "out.npz"
            np.savez(
                source, codes=np.maximum(codes, 0).astype(np.int64), cardinalities=cards, ordered=self._ordered,
                epsilon=self.epsilon, delta=self.delta,
            )  # fmt: skip
            command = [python, HERE / "utility_peers.py", self.method, source, target]
            subprocess.run(command, check=True, capture_output=True, text=True)
            with np.load(target) as made:
                columns = zip(self._values.items(), made["codes"].T, strict=True)
                self._made = pd.DataFrame({n: np.array(v)[column] for (n, v), column in columns})

    def sample(self, num_rows: int) -> pd.DataFrame:
        """Rows of those that were drawn, again and again if more are wanted."""
        return self._made.sample(num_rows, replace=num_rows > len(self._made)).reset_index(drop=True)
