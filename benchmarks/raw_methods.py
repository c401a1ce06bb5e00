"""The methods of the raw-table benchmark, each run in a process of its own: time limits, peak memory."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import resource
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.environments import interpreter
from benchmarks.raw_codebooks import CodeBook, Specs
from benchmarks.raw_exchange import from_peer, to_peer
from benchmarks.raw_rule_book import our_rules

HERE = Path(__file__).parent
DELTA = 1e-9
OURS = ("ours-declared", "ours-private", "ours-mixed")
NOT_PRIVATE = ("infer", "gaussian-copula", "real")
PACKAGES = {"dpmm": "dpmm==0.1.9", "smartnoise": "smartnoise-synth==1.0.8"}
PEERS = ("dpmm-mst", "dpmm-privbayes", "dpmm-aim", "smartnoise-mst", "smartnoise-aim")
METHODS = (*OURS, *NOT_PRIVATE, *PEERS)
WORDS = (
    "rules",
    "special_values",
)  # wanted words of the code books that ours are told; peers get what they can use
NO_CLAIM_EPSILON = 1.0  # what "infer" spends on its model
Made = tuple[pd.DataFrame, dict[str, float]]


class RunFailedError(Exception):
    """A method that gave no rows; the message says why."""


def make(
    method: str, train: pd.DataFrame, book: CodeBook, epsilon: float, limit: float, words: Sequence[str] = ()
) -> Made:
    """Rows of a method, and what they took.

    Parameters
    ----------
    method : str
        Of ``METHODS``.
    train : pandas.DataFrame
        Raw training rows.
    book : CodeBook
        The code book.
    epsilon : float
        Of the whole release; delta is ``DELTA``.
    limit : float
        Seconds of the whole process.
    words : sequence of str
        Wanted words of the code book that are switched on.

    Returns
    -------
    rows : pandas.DataFrame
        As many as ``train`` has.
    used : dict
        ``fit s``, ``sample s``, ``MB`` (peak memory of the process, everything included).

    Raises
    ------
    RunFailedError
        If the method does not finish in time, or fails.
    """
    if method == "real":
        return train, {"fit s": 0.0, "sample s": 0.0, "MB": 0}
    run = _peer if method in PEERS else _inside_own_process
    try:
        return run(method, train, book, epsilon, limit, words)
    except subprocess.TimeoutExpired as error:
        raise RunFailedError(f"not finished after {error.timeout:.0f} s") from error
    except subprocess.CalledProcessError as error:
        said = [line for line in (error.stderr or str(error)).strip().splitlines() if line.strip()]
        raise RunFailedError(said[-1][:200]) from error


def _run(command: list[Any], limit: float, folder: Path) -> None:
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = {**os.environ, **one, "TQDM_DISABLE": "1", "PYTHONWARNINGS": "ignore"}
    subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=limit, env=environment, cwd=folder
    )


def _peer(
    method: str, train: pd.DataFrame, book: CodeBook, epsilon: float, limit: float, words: Sequence[str]
) -> Made:
    package = method.split("-", maxsplit=1)[0]
    python = interpreter(package, PACKAGES[package])
    arrays, columns = to_peer(train, book)
    with tempfile.TemporaryDirectory() as name:
        source, job, target = (Path(name) / file for file in ("in.npz", "job.json", "out.npz"))
        np.savez(source, **arrays)
        job.write_text(json.dumps({"columns": columns, "epsilon": epsilon, "delta": DELTA}))
        _run([python, HERE / "raw_peers.py", method, source, job, target], limit, Path(name))
        with np.load(target) as made:
            rows = from_peer({column: made[column] for column in arrays}, train, book)
            return rows, {
                "fit s": float(made["fit"]),
                "sample s": float(made["sample"]),
                "MB": int(made["MB"]),
            }


def _inside_own_process(
    method: str, train: pd.DataFrame, book: CodeBook, epsilon: float, limit: float, words: Sequence[str]
) -> Made:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.raw_preload"])  # SDV is imported once, not in every run
    with tempfile.TemporaryDirectory() as name:
        source, target = Path(name) / "in.pkl", Path(name) / "out.pkl"
        pd.to_pickle((method, train, book, epsilon, tuple(words)), source)
        process = context.Process(target=_in_own_process, args=(source, target))
        process.start()
        process.join(limit)
        if process.is_alive():
            process.kill()
            process.join()
            raise RunFailedError(f"not finished after {limit:.0f} s")
        made = pd.read_pickle(target) if target.exists() else f"ended with exit code {process.exitcode}"
        if isinstance(made, str):
            raise RunFailedError(made)
        return made


def _in_own_process(source: Path, target: Path) -> None:
    warnings.simplefilter("ignore")
    method, train, book, epsilon, words = pd.read_pickle(source)
    try:
        if method == "gaussian-copula":
            made: Any = _fit_and_sample(lambda: _gaussian_copula(book), train, claims=None)
        else:
            spent = NO_CLAIM_EPSILON if method == "infer" else epsilon
            claims = None if method == "infer" else epsilon
            made = _fit_and_sample(lambda: ours(method, book, spent, words), train, claims=claims)
    except Exception as error:  # a failure is a result too: it is kept on record
        made = f"{type(error).__name__}: {error}"[:300]
    pd.to_pickle(made, target)


def ours(method: str, book: CodeBook, epsilon: float, words: Sequence[str]) -> Any:
    """The shipped synthesizer: declared, private or mixed; ``infer`` without a claim."""
    from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer

    domain = book.declared(words)
    if method == "ours-mixed":
        domain = {n: s for n, s in domain.items() if "range_values" in s}
    options: dict[str, Any] = {"undeclared": "infer" if method == "infer" else "private"}
    if method in ("ours-declared", "ours-mixed"):
        options["domain"] = domain
        if "rules" in words and method == "ours-declared":
            options["rules"] = our_rules(book.rules, domain)
    return PlausibleDeniabilitySynthesizer(
        _metadata(book, book.storage(words)), epsilon=epsilon, delta=DELTA, **options
    )


def _metadata(book: CodeBook, specs: Specs) -> Any:
    from sdv_plausible.sdv.metadata import metadata_from_columns

    metadata = metadata_from_columns(specs)
    if book.primary_key:
        metadata.set_primary_key(book.primary_key, "table")
    return metadata


def _gaussian_copula(book: CodeBook) -> Any:
    from sdv.single_table import GaussianCopulaSynthesizer

    return GaussianCopulaSynthesizer(_metadata(book, book.metadata))


def _fit_and_sample(
    make_synthesizer: Callable[[], Any], train: pd.DataFrame, *, claims: float | None
) -> Made:
    from sdv_plausible.sdv import sdv_versions as sdv_compat

    synth = make_synthesizer()
    start = time.perf_counter()
    synth.fit(sdv_compat.to_native("table", train))
    fitted = time.perf_counter()
    if claims is not None and math.isfinite(claims):
        total = synth.privacy_ledger().total()
        if not total <= claims:
            raise RuntimeError(f"the ledger says {total}, more than {claims}")
    rows = sdv_compat.from_native(synth.sample(len(train)))
    used = {"fit s": fitted - start, "sample s": time.perf_counter() - fitted}
    return rows, {**used, "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}
