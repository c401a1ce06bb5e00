"""One peer on a raw table, in its own environment: ``python raw_peers.py METHOD input.npz job.json output.npz``.

Runs under an interpreter that has the peer's package and not ours. The input holds one array per column (numbers, or
positions in a list of categories, -1 for missing); the job what each of them is, its declared bounds if any, epsilon and
delta. Every peer gets ``PROCESSING_SHARE`` of epsilon for its own preprocessing and the rest for its model.
"""

from __future__ import annotations

import json
import resource
import sys
import time

import numpy as np
import pandas as pd

PROCESSING_SHARE = 0.1  # dpmm's own split at epsilon 1: .9 for the model, .1 for the bins


def frame(arrays: dict[str, np.ndarray], columns: list[dict], native_dates: bool) -> pd.DataFrame:
    """The table in the types that peers preprocess by themselves: text, numbers, dates."""
    out = {}
    for name, column in zip(arrays, columns, strict=True):
        values = arrays[name]
        if column["kind"] == "category":
            out[name] = pd.Series([None if code < 0 else f"k{code}" for code in values], dtype=object)
        elif column["kind"] == "date" and native_dates:
            out[name] = pd.Series(pd.to_datetime(values * 1e9))
        elif column["whole"] and not np.isnan(values).any():
            out[name] = pd.Series(values.astype(np.int64))
        else:
            out[name] = pd.Series(values)
    return pd.DataFrame(out)


def arrays_of(table: pd.DataFrame, columns: list[dict]) -> dict[str, np.ndarray]:
    """Back to one array per column."""
    out = {}
    for name, column in zip(table.columns, columns, strict=True):
        values = table[name]
        if column["kind"] == "category":
            out[name] = np.array([int(v[1:]) if isinstance(v, str) else -1 for v in values], dtype=np.int64)
        elif pd.api.types.is_datetime64_any_dtype(values.dtype):
            seconds = values.astype("datetime64[ns]").astype("int64").to_numpy() / 1e9
            out[name] = np.where(values.isna(), np.nan, seconds)
        else:
            out[name] = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float)
    return out


def dpmm(method: str, table: pd.DataFrame, columns: list[dict], epsilon: float, delta: float) -> tuple:
    """MST, AIM and PrivBayes pipelines with their PrivTree bins."""
    from dpmm.pipelines.aim import AIMPipeline
    from dpmm.pipelines.mst import MSTPipeline
    from dpmm.pipelines.priv_bayes import PrivBayesPipeline

    pipeline = {"aim": AIMPipeline, "mst": MSTPipeline, "privbayes": PrivBayesPipeline}[method]
    options = {"max_model_size": 80, "gen_kwargs": {"n_iters": 1000}} if method == "aim" else {}
    shares = {"epsilon": epsilon * (1 - PROCESSING_SHARE), "proc_epsilon": epsilon * PROCESSING_SHARE}
    made = pipeline(delta=delta, n_jobs=1, **shares, **options)
    domain = {}
    for name, column in zip(table.columns, columns, strict=True):
        if column["kind"] == "category":
            domain[name] = {"categories": [f"k{code}" for code in range(column["size"])]}
        elif column["bounds"]:
            low, high = column["bounds"]
            if pd.api.types.is_datetime64_any_dtype(table[name].dtype):
                low, high = pd.Timestamp(low, unit="s"), pd.Timestamp(high, unit="s")
            domain[name] = {"lower": low, "upper": high}
    start = time.perf_counter()
    made.fit(table, domain=domain, random_state=int.from_bytes(np.random.bytes(4), "big") % 2**31)
    fitted = time.perf_counter()
    rows = made.generate(n_records=len(table))
    return rows[table.columns], fitted - start, time.perf_counter() - fitted


def smartnoise(method: str, table: pd.DataFrame, columns: list[dict], epsilon: float, delta: float) -> tuple:
    """MST and AIM of smartnoise-synth with its own transformers: labels, and equal bins in the declared bounds."""
    from snsynth import Synthesizer
    from snsynth.transform import BinTransformer

    kinds = dict(zip(table.columns, columns, strict=True))
    bounded = {
        n: BinTransformer(lower=c["bounds"][0], upper=c["bounds"][1], nullable=bool(table[n].isna().any()))
        for n, c in kinds.items()
        if c["kind"] != "category" and c["bounds"]
    }
    free = [n for n, c in kinds.items() if c["kind"] != "category" and n not in bounded]
    made = Synthesizer.create(method, epsilon=epsilon, delta=delta)
    start = time.perf_counter()
    made.fit(
        table,
        transformer=bounded,
        categorical_columns=[n for n, c in kinds.items() if c["kind"] == "category"],
        continuous_columns=free,
        preprocessor_eps=epsilon * PROCESSING_SHARE if free else 0.0,
        nullable=bool(table[free].isna().any().any()) if free else False,
    )
    fitted = time.perf_counter()
    rows = made.sample(len(table))
    return rows[table.columns], fitted - start, time.perf_counter() - fitted


def main() -> None:
    method, source, job_file, target = sys.argv[1:]
    with open(job_file, encoding="utf-8") as file:  # noqa: PTH123
        job = json.load(file)
    with np.load(source) as given:
        arrays = {name: given[name] for name in given.files}
    package, model = method.split("-")
    table = frame(arrays, job["columns"], native_dates=package == "dpmm")
    run = {"dpmm": dpmm, "smartnoise": smartnoise}[package]
    rows, fit, sample = run(model, table, job["columns"], job["epsilon"], job["delta"])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    np.savez(target, fit=fit, sample=sample, MB=memory, **arrays_of(rows, job["columns"]))


if __name__ == "__main__":
    main()
