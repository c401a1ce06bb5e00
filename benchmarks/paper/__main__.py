"""Figures 1 to 6 and tables 3 to 5 of the paper.

Run: python -m benchmarks.paper rerun [--minutes M]
     python -m benchmarks.paper figure3|table4|causes|all|report [--data acs|simulated] [--quick] [--fresh] [--repeats N] [--output FOLDER]

Measures what is not yet in ``results_<data>.jsonl`` and writes ``results_<data>.md`` and the plots beside it. ``report``
measures nothing. ``--fresh`` measures again. ``--quick`` takes small numbers of rows, to see that everything runs; give it
a folder of its own. Every result is kept with the code and the settings that made it, and no report mixes two of them.

``rerun`` measures everything of both data sets anew, in a folder aside (``benchmarks/results/paper``), item by item: what was
cut off, or stopped after so many CPU minutes, goes on where it stopped while code and settings stay the same. When nothing is
left it replaces the results, pages and plots here, and the tables of docs/explanation/paper_results.md. Other readings of what
the paper prints (``benchmarks.paper.readings``) are among them; seeds at equal total (``benchmarks.paper.keeping_seeds``) are not.

``page`` writes those tables from the results that are stored, and names the sentences that no longer hold; a fast test asks both.
"""

from __future__ import annotations

import argparse
import os
import shutil
import time
import warnings
from collections.abc import Callable
from pathlib import Path

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

from benchmarks.paper import (
    causes,
    classifiers,
    generation,
    linear,
    page,
    plots,
    readings,
    report,
    statistics,
)
from benchmarks.paper.data import MissingDataError
from benchmarks.paper.settings import SIZES
from benchmarks.paper.store import MixedVersionsError, Store
from benchmarks.paper.synthesis import Study

HERE = Path(__file__).parent
ASIDE = HERE.parent / "results/paper"
DATA = ("acs", "simulated")
COMMANDS = {
    "figure1": "accuracy", "figure2": "accuracy", "figure3": "distances", "figure4": "distances", "figure5": "timing",
    "figure6": "passing", "table3": "table3", "table4": "table4", "table5": "table5", "causes": "causes",
}  # fmt: skip


def measures(quick: bool) -> dict[str, Callable[[Study, Store], None]]:
    """What measures each item of the results."""
    return {
        "accuracy": statistics.model_accuracy,
        "distances": statistics.distances,
        "timing": generation.timing,
        "passing": generation.pass_rates,
        "table3": classifiers.table3,
        "table5": classifiers.table5,
        "causes": causes.causes,
        "table4": lambda study, store: linear.table4(study, store, with_peer=not quick),
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paper",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=[*COMMANDS, "all", "report", "rerun", "page"])
    parser.add_argument("--data", choices=DATA, default="acs")
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="of rerun: CPU minutes, at most about"
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--repeats", type=int)
    options = parser.parse_args(arguments)
    if options.quick and options.output is None:
        parser.error("--quick needs --output FOLDER: its numbers must not mix with the full run's")
    warnings.simplefilter("ignore")
    try:
        if options.what == "rerun":
            rerun(options.output or ASIDE, HERE if options.output is None else None, options)
            return
        if options.what == "page":
            renew_page()
            return
        folder = options.output or HERE
        folder.mkdir(parents=True, exist_ok=True)
        sizes = SIZES["quick" if options.quick else options.data]
        every = measures(options.quick)
        items = {"all": list(every), "report": []}.get(options.what, [COMMANDS.get(options.what, "")])
        store = Store(folder / f"results_{options.data}.jsonl", sizes if items else None)
        if options.fresh:
            store.forget([*items, *(["table4 printed"] if "table4" in items else [])])
        store.check_one_version()
        for repeat in range(options.repeats or sizes.repeats):
            study = Study(options.data, sizes, repeat)
            for item in items:
                every[item](study, store)
        print(written(store, options.data, folder, quick=options.quick))
    except (MissingDataError, MixedVersionsError) as error:
        raise SystemExit(str(error)) from error


def written(store: Store, data: str, folder: Path, *, quick: bool) -> str:
    """The page of a data set, which is written with its plots."""
    text = report.render(store, data, SIZES["quick" if quick else data])
    (folder / f"results_{data}.md").write_text(text, encoding="utf-8")
    plots.draw(store, data, folder)
    return text


def rerun(aside: Path, target: Path | None, options: argparse.Namespace) -> None:
    """Measure everything at this version, then put it in the place of what is in ``target``."""
    aside.mkdir(parents=True, exist_ok=True)
    stores = {}
    for data in DATA:
        sizes = SIZES["quick" if options.quick else data]
        stores[data] = store = Store(aside / f"results_{data}.jsonl", sizes)
        store.forget_other_versions()
        for repeat in range(options.repeats or sizes.repeats):
            study = Study(data, sizes, repeat)
            for item, measure in measures(options.quick).items():
                if time.process_time() > 60 * options.minutes:
                    print(f"stopped before {item} of {data}, repeat {repeat}: the same command goes on there")
                    return
                measure(study, store)
    sizes = SIZES["quick" if options.quick else readings.DATA]
    others = Store(aside / readings.NAME, sizes)
    others.forget_other_versions()
    if not readings.run(others, sizes, 60 * options.minutes):
        print("stopped in the other readings: the same command goes on there")
        return
    for data, store in stores.items():
        written(store, data, aside, quick=options.quick)
    for path in aside.glob("*_*.*") if target is not None else ():
        shutil.copy(path, target / path.name)
    if target is not None:
        renew_page()


def renew_page() -> None:
    """Write the tables of the page from the stored results."""
    text = page.renewed(page.PAGE.read_text(encoding="utf-8"), page.stored())
    page.PAGE.write_text(text, encoding="utf-8")
    for name in page.outlived(text, page.stored()):
        print(f"{page.PAGE.name}: the sentence marked 'holds: {name}' no longer holds: write what does")


if __name__ == "__main__":
    main()
