"""One peer, in its own environment: ``python utility_peers.py METHOD input.npz output.npz``.

Runs under an interpreter that has the peer's package and not ours; only numpy and pandas are shared. The input holds codes,
cardinalities, ordered, target, epsilon, delta; the output synthetic codes and seconds to fit.

Settings are the peers' own: their defaults, or those that their authors publish for adult. Total epsilon and delta are
everybody's. Where a peer takes for public what is not (Tab-PE: the shares of the labels), it is released out of the same epsilon.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

LABEL_SHARE = 0.02  # of Tab-PE's epsilon, for the shares of the labels
Made = tuple[np.ndarray, float]


def zcdp(epsilon: float, delta: float) -> float:
    """Largest rho (to 1e-5 of itself) whose zero-concentrated privacy gives (epsilon, delta).

    Canonne, Kamath and Steinke, *The Discrete Gaussian for Differential Privacy* (2020), proposition 12.
    """
    alphas = 1 + np.geomspace(1e-3, 1e6, 40_000)

    def log_delta(rho: float) -> float:
        logs = (alphas - 1) * (alphas * rho - epsilon) - np.log(alphas - 1) + alphas * np.log1p(-1 / alphas)
        return float(logs.min())

    low, high = 0.0, epsilon + 1.0
    while high - low > 1e-5 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if log_delta(middle) <= math.log(delta) else (low, middle)
    return low


def dpmm(
    method: str, table: pd.DataFrame, cards: list[int], ordered: list[bool], epsilon: float, delta: float
) -> Made:
    """MST, AIM and PrivBayes of the package dpmm, on integer codes."""
    from dpmm.models.aim import AIMGM
    from dpmm.models.mst import MSTGM
    from dpmm.models.priv_bayes import PrivBayesGM

    options = {"aim": {"max_model_size": 80, "n_iters": 1000}, "mst": {}, "privbayes": {}}[method]
    made = {"aim": AIMGM, "mst": MSTGM, "privbayes": PrivBayesGM}[method](
        epsilon=epsilon, delta=delta, n_jobs=1, **options
    )
    made.set_random_state(np.random.RandomState(int.from_bytes(np.random.bytes(4), "big") % 2**31))
    made.set_domain(domain=dict(zip(table.columns, cards, strict=True)))
    start = time.perf_counter()
    made.fit(table)
    seconds = time.perf_counter() - start
    return made.generate(n_records=len(table))[table.columns].to_numpy(), seconds


def datasynthesizer(table: pd.DataFrame, cards: list[int], epsilon: float) -> Made:
    """Correlated attribute mode, one parent, every column categorical."""
    from DataSynthesizer.DataDescriber import DataDescriber
    from DataSynthesizer.DataGenerator import DataGenerator

    with tempfile.TemporaryDirectory() as folder:
        path, description = Path(folder) / "data.csv", Path(folder) / "description.json"
        table.to_csv(path, index=False)
        start = time.perf_counter()
        describer = DataDescriber(category_threshold=max(cards) + 1)
        describer.describe_dataset_in_correlated_attribute_mode(
            dataset_file=str(path), epsilon=epsilon, k=1,
            attribute_to_is_categorical=dict.fromkeys(table.columns, True),
            attribute_to_is_candidate_key=dict.fromkeys(table.columns, False),
        )  # fmt: skip
        describer.save_dataset_description_to_file(str(description))
        seconds = time.perf_counter() - start
        generator = DataGenerator()
        generator.generate_dataset_in_correlated_attribute_mode(len(table), str(description))
        rows = generator.synthetic_dataset[table.columns]
        return rows.apply(pd.to_numeric, errors="coerce").fillna(0).to_numpy(), seconds


def opendp(method: str, table: pd.DataFrame, cards: list[int], epsilon: float, delta: float) -> Made:
    """MST and AIM of ``opendp[mbi]``, every key declared, defaults."""
    import opendp.prelude as dp
    import polars as pl
    from opendp.extras.mbi import _mst

    dp.enable_features("contrib")
    # 0.16.0's MST splits its share into equal parts whose sum, rounded up, is larger than the share, and then refuses.
    _mst.prior = lambda budget: budget * (1 - 1e-9)
    rho = zcdp(epsilon, delta)
    start = time.perf_counter()
    context = dp.Context.compositor(
        data=pl.LazyFrame({name: table[name].to_numpy().astype(np.int64) for name in table}),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=rho),
        split_evenly_over=1,
    )
    keys = {name: list(range(size)) for name, size in zip(table.columns, cards, strict=True)}
    algorithm = {"opendp-aim": dp.mbi.AIM, "opendp-mst": dp.mbi.MST}[method]()
    model = context.query().contingency_table(keys=keys, algorithm=algorithm).release()
    seconds = time.perf_counter() - start
    # "round", the default, put the values of every child of a column in one order until mbi 2.0.0: false dependence
    made = (
        model.synthesize(rows=len(table), method="sample")
        .select(list(table.columns))
        .to_numpy()
        .astype(float)
    )
    for column in made.T:  # every model of theirs has a missing value: noise may give it a few rows
        empty = np.isnan(column)
        column[empty] = np.random.choice(column[~empty], int(empty.sum()))
    return made, seconds


def dpsynth(method: str, table: pd.DataFrame, cards: list[int], epsilon: float, delta: float) -> Made:
    """AIM-GDP, SWIFT and MST of google/dpsynth on integer codes: its one-way step and its defaults."""
    import mbi
    from dpsynth import discrete_mechanisms as mechanisms
    from dpsynth.discrete_mechanisms import accounting

    # dp-accounting 0.6.0 looks for the budget from 0 on, where AIM-GDP and SWIFT divide by it.
    accounting.gdp_gaussian_sigma = lambda budget: math.sqrt(1 / max(budget, 1e-12))
    inner = {
        "dpsynth-aim-gdp": mechanisms.AIMGDPConfig,
        "dpsynth-swift": mechanisms.SWIFTConfig,
        "dpsynth-mst": mechanisms.MSTConfig,
    }[method]
    data = mbi.Dataset({name: table[name].to_numpy() for name in table}, mbi.Domain(list(table), cards))
    start = time.perf_counter()
    mechanism = mechanisms.DiscreteConfig(mechanism=inner()).calibrate(epsilon=epsilon, delta=delta)
    made = mechanism(np.random.default_rng(), data).synthetic_data.to_dict()  # draws rows, too
    seconds = time.perf_counter() - start
    return np.stack([made[name] for name in table], axis=1), seconds


def tab_pe(
    table: pd.DataFrame, cards: list[int], ordered: list[bool], target: int, epsilon: float, delta: float
) -> Made:
    """Private Evolution for tables, with the settings of its authors' example on adult: 1,000 rows, 30 populations."""
    from pe.api import TabularAPI
    from pe.constant.data import (
        LABEL_ID_COLUMN_NAME,
        TABULAR_DATA_COLUMN_NAME,
        VARIATION_API_FOLD_ID_COLUMN_NAME,
    )
    from pe.data import Data, TabularColumnType
    from pe.embedding import TabularEmbedding
    from pe.histogram import NearestNeighbors
    from pe.population import CompositePopulation, PEPopulation
    from pe.runner import PE

    pd.options.mode.copy_on_write = True
    label = table.columns[target]
    kinds: dict[bool, list[str]] = {True: [], False: []}
    for name, is_ordered in zip(table.columns, ordered, strict=True):
        if name != label:
            kinds[bool(is_ordered)].append(name)
    features = kinds[False] + kinds[True]
    size = dict(zip(table.columns, cards, strict=True))
    info: dict[str, dict] = {
        name: {"categories": list(range(size[name])), "type": TabularColumnType.CATEGORICAL}
        for name in kinds[False]
    }
    for name in kinds[True]:
        info[name] = {"min": 0, "max": size[name] - 1, "type": TabularColumnType.INTEGER}
    labels = range(size[label])
    private = Data(
        data_frame=pd.DataFrame(
            {TABULAR_DATA_COLUMN_NAME: table[features].to_numpy().tolist(), LABEL_ID_COLUMN_NAME: table[label].to_numpy()}
        ),
        metadata={
            "label_columns": [label],
            "label_info": [{"name": f"{label}: {v}", "column_values": {label: v}} for v in labels],
            "cat_columns": kinds[False], "int_columns": kinds[True], "float_columns": [],
            "feature_columns": features,
        },
    )  # fmt: skip
    rounds, rows = 30, 1000
    start = time.perf_counter()
    counts = np.bincount(table[label], minlength=size[label]) + np.random.laplace(
        0, 1 / (LABEL_SHARE * epsilon), size[label]
    )
    shares = np.clip(counts, len(table) / rows, None)  # at least one row of each, which theirs requires
    api = TabularAPI(info=info, num_iterations=rounds)
    histogram = NearestNeighbors(
        embedding=TabularEmbedding(info=info), mode="L2", lookahead_degree=0, backend="torch"
    )
    early = PEPopulation(
        api=api, initial_variation_api_fold=0, next_variation_api_fold=1, keep_selected=False,
        selection_mode="sample", histogram_threshold=0,
    )  # fmt: skip
    late = PEPopulation(
        api=api,
        initial_variation_api_fold=3,
        next_variation_api_fold=3,
        keep_selected=True,
        selection_mode="rank",
    )
    made = PE(
        priv_data=private, population=CompositePopulation([early] * 5 + [late] * (rounds - 5)), histogram=histogram
    ).run(
        num_samples_schedule=[rows] * rounds, delta=delta, epsilon=epsilon * (1 - LABEL_SHARE),
        save_checkpoint=False, fraction_per_label_id=shares.tolist(),
    )  # fmt: skip
    seconds = time.perf_counter() - start
    last = made.data_frame[
        made.data_frame[VARIATION_API_FOLD_ID_COLUMN_NAME] == -1
    ]  # as their example reads the result
    found = pd.DataFrame(last[TABULAR_DATA_COLUMN_NAME].tolist(), columns=features)
    found[label] = last[LABEL_ID_COLUMN_NAME].to_numpy()
    return found[table.columns].to_numpy(), seconds


def margnet(table: pd.DataFrame, cards: list[int], epsilon: float, delta: float) -> Made:
    """MargNet with its settings for adult at epsilon 1; the environment variable MARGNET names its folder."""
    import torch

    os.chdir(os.environ["MARGNET"])
    sys.path.insert(0, ".")
    torch.cuda.reset_peak_memory_stats = lambda *_, **__: None  # theirs asks for a graphics card's memory
    torch.cuda.max_memory_allocated = lambda *_, **__: 0
    from method.MargDL.main import MargDLGen

    config = {
        "train": {"selection_iterations": 200, "final_iterations": 200, "lr": 0.001, "batch_size": 512},
        "model_params": {"d_layers": [256, 256], "dropout": 0.0},
    }
    options = SimpleNamespace(iter=None, lr=None, batch=None, test=False, resample=False)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        made = MargDLGen(
            options, table, dict(zip(table.columns, cards, strict=True)), "cpu", config, folder, "gan"
        )
        made.fit_adaptive(zcdp(epsilon, delta))
        seconds = time.perf_counter() - start
        return made.model.sample(len(table)), seconds


def main() -> None:
    method, source, target = sys.argv[1:]
    with np.load(source) as given:
        cards, ordered = given["cardinalities"].tolist(), given["ordered"].tolist()
        table = pd.DataFrame(given["codes"], columns=[f"c{j:02d}" for j in range(len(cards))])
        label = int(given["target"]) if "target" in given else len(cards) - 1
        epsilon, delta = float(given["epsilon"]), float(given["delta"])
    runs: dict[str, Callable[[], Made]] = {
        "datasynthesizer": lambda: datasynthesizer(table, cards, epsilon),
        "opendp-mst": lambda: opendp(method, table, cards, epsilon, delta),
        "opendp-aim": lambda: opendp(method, table, cards, epsilon, delta),
        **dict.fromkeys(
            ("dpsynth-aim-gdp", "dpsynth-swift", "dpsynth-mst"),
            lambda: dpsynth(method, table, cards, epsilon, delta),
        ),
        "tab-pe": lambda: tab_pe(table, cards, ordered, label, epsilon, delta),
        "margnet": lambda: margnet(table, cards, epsilon, delta),
    }
    codes, seconds = runs.get(method, lambda: dpmm(method, table, cards, ordered, epsilon, delta))()
    np.savez(target, codes=np.clip(codes.astype(np.int64), 0, np.array(cards) - 1), seconds=seconds)
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
