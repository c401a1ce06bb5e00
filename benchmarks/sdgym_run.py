"""Run SDGym offline on local tables, with our synthesizer, its settings, and our metrics.

Run: python -m benchmarks.sdgym_run [table ...] [--quick] [--rows 5000] [--timeout SECONDS] [--output FILE.md]

In the environment of ``pip install 'sdv-plausible[sdgym]'`` (SDV 1.38). Printed: a Markdown table of means over the
tables, and one of everything, as SDGym gives it, beside what our privacy ledger promises. docs/how_to/benchmark_with_sdgym.md
explains the columns.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import pickle
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

DATA = Path(os.environ.get("SDV_PLAUSIBLE_DATA", "../shared/data"))
OUTPUT = Path(__file__).with_name("results_sdgym.md")
OURS = "PlausibleDeniabilitySynthesizer"


@dataclass(frozen=True, kw_only=True)
class Source:
    """A shared table, and the columns of it that are used (all without ``columns``); the last one is what to predict."""

    file: str
    columns: str = ""


TABLES = {
    "adult": Source(file="adult/adult_train.csv.gz"),
    "asia": Source(file="bayesnet_samples/asia.csv.gz"),
    "bank_marketing": Source(file="bank_marketing/bank_marketing.csv.gz"),
    "compas": Source(
        file="compas/compas_two_years.csv.gz",
        columns="sex age race juv_fel_count juv_misd_count juv_other_count priors_count c_charge_degree decile_score "
        "score_text two_year_recid",
    ),
    "nist_ma2018": Source(
        file="nist_acs_excerpts/ma2018.csv.gz",
        columns="PUMA AGEP SEX MSP HISP RAC1P NOC NPF HOUSING_TYPE OWN_RENT DENSITY INDP_CAT EDU DVET DREM DPHY DEYE DEAR "
        "PINCP_DECILE",
    ),
}

QUICK_TABLES = ["adult", "asia", "bank_marketing", "compas"]


# --- SDGym's folders --------------------------------------------------------------------------------------------------


def write_dataset(folder: Path, name: str, table: pd.DataFrame) -> None:
    """Write a table and its detected metadata where SDGym looks for an additional single-table dataset.

    SDGym 0.15.1 lists ``single_table/<name>/``, then reads ``single_table/<name>/<name>/`` and asks the network if that
    is missing: the same two files must be in both.
    """
    from sdv.metadata import Metadata

    outer = folder / "single_table" / name
    metadata = Metadata.detect_from_dataframes({name: table})
    for place in (outer, outer / name):
        place.mkdir(parents=True)
        metadata.save_to_json(place / "metadata.json")
        with zipfile.ZipFile(place / "data.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"{name}.csv", table.to_csv(index=False))


def read(name: str, rows: int) -> pd.DataFrame:
    """Read some rows of a shared table, always the same ones."""
    source = TABLES[name]
    path = DATA / source.file
    if not path.exists():
        raise SystemExit(f"{path} does not exist: set SDV_PLAUSIBLE_DATA to the folder of the tables")
    table = pd.read_csv(path)[source.columns.split() or slice(None)]
    return table.sample(min(rows, len(table)), random_state=0).reset_index(drop=True)


# --- the run ----------------------------------------------------------------------------------------------------------


def our_metrics(max_rows: int, num_runs: int = 2) -> list[tuple[Any, dict[str, Any]]]:
    """Our metrics, and what Privacy_Score measures, with settings that keep a run short.

    Ours are classes: their names are only known to SDGym where their module is imported.
    """
    from sdv_plausible.evaluation import metrics

    forest = {"classifiers": ("random_forest",), "num_runs": num_runs, "max_rows": max_rows}
    return [
        (metrics.TotalVariationDistance, {"max_rows": max_rows}),
        (metrics.PairwiseTotalVariationDistance, {"max_rows": max_rows}),
        (metrics.ClassifierAccuracy, forest),
        (metrics.ClassifierAgreement, forest),
        (metrics.DistinguishingGame, forest),
        ("DCRBaselineProtection", {"table_name": None, "num_rows_subsample": distance_rows(max_rows)}),
    ]


def distance_rows(rows: int) -> int:
    """Rows that Privacy_Score's measure is computed on: its time grows with their square."""
    return min(800, rows // 5)


def run(
    datasets: Path,
    synthesizers: Sequence[str],
    variants: Sequence[type],
    metrics: Sequence[Any],
    timeout: int | None = None,
) -> pd.DataFrame:
    """Run SDGym on the datasets in a folder; its table with the promised epsilon in a further column.

    Parameters
    ----------
    datasets : Path
        Folder that :func:`write_dataset` filled.
    synthesizers : sequence of str
        Names that SDGym knows; it adds UniformSynthesizer by itself.
    variants : sequence of type
        Classes of ``benchmarks.sdgym_variants``.
    metrics : sequence
        SDMetrics metrics: names, classes, or pairs of one and its options.
    timeout : int, optional
        Seconds for one synthesizer on one table, scores included; each then runs in a spawned process.
    """
    import sdgym

    with tempfile.TemporaryDirectory() as results, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = sdgym.benchmark_single_table(
            synthesizers=list(synthesizers),
            custom_synthesizers=list(variants),
            sdv_datasets=None,  # its default is nine tables from the network
            additional_datasets_folder=str(datasets),
            compute_privacy_score=False,  # 90 s per synthesizer at 5,000 rows: our_metrics has its measure on fewer
            sdmetrics=list(metrics),
            timeout=timeout,
            output_destination=results,  # holds fitted synthesizers: gone after this block
        )
        promises = _promises(Path(results))
    keys = zip(table["Dataset"], table["Synthesizer"], strict=True)
    return table.assign(Promised_Epsilon=[promises.get(key, "-") for key in keys])


def _promises(results: Path) -> dict[tuple[str, str], str]:
    """What the ledgers of the saved synthesizers promise, per dataset and synthesizer."""
    found = {}
    for path in results.glob("single_table/*/*/*/*.pkl"):
        synthesizer = pickle.loads(path.read_bytes())
        if type(synthesizer).__name__ != OURS:
            continue
        ledger = synthesizer.privacy_ledger()
        dataset = path.parts[-3].rsplit("_", 3)[0]  # <dataset>_<month>_<day>_<year>
        found[dataset, path.stem] = f"{ledger.total():.3g}" if ledger.claims_privacy else "no claim"
    return found


# --- the table --------------------------------------------------------------------------------------------------------

COLUMNS = {
    "Train_Time": "fit s",
    "Sample_Time": "sample s",
    "Promised_Epsilon": "promised epsilon",
    "DCRBaselineProtection": "Privacy_Score",
    "Diagnostic_Score": "Diagnostic",
    "Quality_Score": "Quality",
    "TotalVariationDistance": "columns (1 - TVD)",
    "PairwiseTotalVariationDistance": "pairs (1 - TVD)",
    "ClassifierAccuracy": "accuracy",
    "ClassifierAgreement": "agreement",
    "DistinguishingGame": "game (2 - 2 x accuracy)",
}


def markdown(table: pd.DataFrame, keys: Sequence[str]) -> str:
    """A Markdown table: keys, then the known columns of SDGym's table, then its errors if there are any."""
    shown = table[[*keys, *(name for name in COLUMNS if name in table)]].rename(columns=COLUMNS)
    if "Error" in table and table["Error"].notna().any():
        shown["error"] = table["Error"].fillna("").astype(str).str.replace("|", "/").str.split("\n").str[0]
    lines = ["| " + " | ".join(shown.columns) + " |", "|" + " --- |" * shown.shape[1]]
    lines += [
        "| " + " | ".join(_cell(value) for value in row) + " |" for row in shown.itertuples(index=False)
    ]
    return "\n".join(lines)


def means(table: pd.DataFrame) -> pd.DataFrame:
    """Means over the datasets, in the order of the rows; failures are counted, not averaged."""
    numbers = [name for name in COLUMNS if name in table and name != "Promised_Epsilon"]
    grouped = table.groupby(["Synthesizer", "Settings"], sort=False)
    mean = grouped[numbers].mean()
    mean.insert(
        2,
        "Promised_Epsilon",
        grouped["Promised_Epsilon"].agg(lambda found: "; ".join(sorted({*found} - {"-"})) or "-"),
    )
    mean["Error"] = grouped["Failed"].sum().map(lambda count: f"failed on {count}" if count else None)
    return mean.reset_index()


def report(table: pd.DataFrame, variants: Sequence[Any], head: str) -> str:
    """The whole text: what was run, the means, and every run."""
    settings = {variant.__name__: variant.settings() for variant in variants}
    failed = table["Error"].notna() if "Error" in table else False
    table = table.assign(Settings=table["Synthesizer"].map(settings).fillna("defaults"), Failed=failed)
    return "\n".join(
        [
            "# SDGym\n",
            head,
            "\n## Means over the tables\n",
            markdown(means(table), ["Synthesizer", "Settings"]),
            "\n## Every run\n",
            markdown(table, ["Dataset", "Synthesizer"]),
            "",
        ]
    )


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return "" if value is None else str(value)


def _head(names: Sequence[str], options: argparse.Namespace, seconds: float, processor_seconds: float) -> str:
    versions = ", ".join(
        f"{p} {importlib.metadata.version(p)}" for p in ("sdv-plausible", "sdgym", "sdv", "sdmetrics")
    )
    timed = f"; timeout {options.timeout} s, each run in a spawned process" if options.timeout else ""
    return (
        f"`{' '.join(['python -m benchmarks.sdgym_run', *sys.argv[1:]])}`: {len(names)} tables "
        f"({', '.join(names)}) of at most {options.rows:,} rows{timed}; {seconds:.0f} s in all, {processor_seconds:.0f} s of one "
        f"core of a shared machine; {versions}. One run each, fresh secret coins: the last digits differ from run to run. Scores are SDGym's normalised "
        "ones: 1 is best in every column. SDGym scores against the rows that were learned from, so DataIdentity, which "
        f"gives them back, shows the top of each scale. `Privacy_Score` (on {distance_rows(options.rows)} rows) is "
        "distance-based and promises nothing; `promised epsilon` is the total of our ledger (delta 1e-9). Means leave "
        "out tables on which a synthesizer failed."
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "tables", nargs="*", choices=[[], *TABLES], default=[], help="default: all", metavar="table"
    )
    parser.add_argument("--quick", action="store_true", help="few rows and synthesizers, under a minute")
    parser.add_argument("--rows", type=int, help="of each table, at most; default 5000, quick 1000")
    parser.add_argument(
        "--timeout", type=int, help="seconds for one synthesizer on one table; about 20 s go into starting"
    )
    parser.add_argument(
        "--output", type=Path, help=f"write the tables here, such as {OUTPUT.name}; default: only print"
    )
    options = parser.parse_args()
    options.rows = options.rows or (1000 if options.quick else 5000)
    os.environ["TQDM_DISABLE"] = "1"

    from benchmarks import sdgym_variants as settings

    synthesizers = ["UniformSynthesizer", "GaussianCopulaSynthesizer", OURS]
    variants = [settings.PlausibleEpsilonOne, settings.PlausibleK50Keeps1]
    if not options.quick:
        synthesizers.insert(0, "DataIdentity")
        variants = [*settings.NOT_PRIVATE, *settings.BUDGETS, *settings.SEEDS]
    names = options.tables or (QUICK_TABLES if options.quick else list(TABLES))
    metrics = our_metrics(options.rows, num_runs=1 if options.quick else 2)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            write_dataset(Path(folder), name, read(name, options.rows))
        table = run(Path(folder), synthesizers, variants, metrics, options.timeout)
    text = report(table, variants, _head(names, options, time.perf_counter() - start, time.process_time()))
    print(text)
    if options.output:
        options.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
