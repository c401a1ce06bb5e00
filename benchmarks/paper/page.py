"""The tables of docs/explanation/paper_results.md, both data sets side by side, from the stored results."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.paper import claims, differences, keeping_seeds, readings
from benchmarks.paper.claims import OWN_NORM_LAMBDAS, Stores
from benchmarks.paper.data import NAMES
from benchmarks.paper.published import TABLE3, TABLE4, TABLE5, Published
from benchmarks.paper.report import (
    at_fitting,
    best_lambda,
    improvement,
    percent,
    printed_lambda,
    table,
    vectors,
)
from benchmarks.paper.settings import FITTING_LAMBDAS, KS, LAMBDAS, ROWS, SIZES
from benchmarks.paper.store import ROOT, UNKNOWN, Store

PAGE = ROOT / "docs/explanation/paper_results.md"
HERE = Path(__file__).parent
SHOWN_KS = (50, 100, 250)
MODELS = {  # of figures 1 and 2: column of the page -> row of the results
    "random": "random", "marginals": "marginals", "model, ε=0.1": "model, ε=0.1, 20 models",
    "model, ε=1": "model, ε=1, 20 models", "model, ε=inf": "model, ε=inf",
    "ours (default), ε=1": "ours (default), ε=1", "random forest": "random forest, 280,000 rows",
}  # fmt: skip
READ = {  # the same of the readings
    "ε=0.1 after amplification": "best arc, ε=0.1 after amplification",
    "child after child: not noised": "child after child, not noised",
    "child after child: ε=0.1 after amplification": "child after child, ε=0.1 after amplification",
}
GAINS = {"not noised": "model, ε=inf", **{f"ε={e}": f"model, ε={e}, 20 models" for e in ("1", "0.1")}, "ours (default), ε=1": "ours (default), ε=1"}  # fmt: skip


def stored(folder: Path = HERE) -> Stores:
    """The stored results of both data sets, of other readings, and of seeds at equal total."""
    names = (*(f"results_{data}.jsonl" for data in ("acs", "simulated")), readings.NAME)
    acs, simulated, others = (Store(folder / name) for name in names)
    return Stores(acs, simulated, others, Store(keeping_seeds.RESULTS))


def _scores(item: str, scores: dict[str, str], published: Published) -> Callable[[Stores], str]:
    def made(stores: Stores) -> str:
        body = []
        for row in (row.name for row in ROWS):
            cells = [row]
            for score in scores:
                printed = published.get(row, {}).get(score)
                cells.append("" if printed is None else f"{printed}")
                found = [
                    [line[score] for line in store.of(item, row) if score in line] for store in stores[:2]
                ]
                cells += [percent(values) if values else "" for values in found]
            body.append(cells)
        heads = [head for shown in scores.values() for head in (f"{shown}: paper", "acs", "simulated")]
        return table(["rows", *heads], body)

    return made


def _distances(stores: Stores) -> str:
    def mean(store: Store, row: str, key: str) -> str:
        lines = store.of("distances", row)
        if not lines:
            return ""
        found = vectors(lines, key).mean(axis=1)
        spread = f" ± {found.std(ddof=1):.4f}" if len(found) > 1 else ""
        return f"{found.mean():.4f}{spread}"

    body = [
        [row.name, *(mean(s, row.name, key) for key in ("values", "pairs") for s in stores[:2])]
        for row in ROWS
    ]
    return table(["rows", "columns: acs", "simulated", "pairs: acs", "simulated"], body)


def _passing(stores: Stores) -> str:
    def share(store: Store, row: str, k: int) -> str:
        lines = store.of("passing", row)
        return f"{100 * vectors(lines).mean(axis=0)[KS.index(k)]:.1f}" if lines else ""

    rows = dict.fromkeys(row for store in stores[:2] for row in store.rows("passing"))
    body = [[row, *(share(store, row, k) for k in SHOWN_KS for store in stores[:2])] for row in rows]
    return table(["candidates", *(h for k in SHOWN_KS for h in (f"k={k}: acs", "simulated"))], body)


def _figure1(stores: Stores) -> str:
    *gains, ours = [improvement(stores[1], row) for row in GAINS.values()]
    gains += [*(improvement(stores[2], row, "figure 1") for row in READ.values()), ours]
    body = [[name, *(f"{100 * gain[j]:+.1f}" for gain in gains)] for j, name in enumerate(NAMES)]
    *heads, last = GAINS
    return table(["attribute", *heads, *READ, last], body)


def _figure2(stores: Stores) -> str:
    means = [vectors(stores[1].of("accuracy", row)).mean(axis=0) for row in MODELS.values()]
    body = [[name, *(f"{100 * mean[j]:.1f}" for mean in means)] for j, name in enumerate(NAMES)]
    return table(["attribute", *MODELS], [*body, ["mean", *(f"{100 * np.mean(mean):.1f}" for mean in means)]])


def _power(value: float) -> str:
    return f"λ=10^{np.log10(value):.0f}"


def _table4_printed(stores: Stores) -> str:
    store, item = stores[1], "table4 printed"
    chosen = {score: printed_lambda(store, score) for score in FITTING_LAMBDAS}
    body = []
    for row in store.rows(item):
        cells, lines = [row], store.of(item, row)
        for score, position in chosen.items():
            printed = TABLE4.get(row, {}).get(score)
            cells += ["" if printed is None else f"{printed}", at_fitting(lines, score)]
            cells.append(percent([line[score][position] for line in lines]))
        body.append(cells)
    heads = [(f"{s}: paper", _power(FITTING_LAMBDAS[s]), _power(LAMBDAS[i])) for s, i in chosen.items()]
    return table(["method", *(head for three in heads for head in three)], body)


def _table4_own_norm(stores: Stores) -> str:
    wide, own = stores[1], stores[2]
    body = []
    for row in own.rows("own norm"):
        cells, lines = [row], own.of("own norm", row)
        for score, value in OWN_NORM_LAMBDAS.items():
            cells += [f"{TABLE4[row][score]}", at_fitting(wide.of("table4 printed", row), score)]
            best = int(vectors(own.of("own norm", "not private"), score).mean(axis=0).argmax())
            cells += [at_fitting(lines, score, position) for position in (LAMBDAS.index(value), best)]
        body.append(cells)
    heads = [
        (f"{score}: paper", f"√98, {_power(FITTING_LAMBDAS[score])}", f"own norm, {_power(value)}", "own norm, the paper's rule")
        for score, value in OWN_NORM_LAMBDAS.items()
    ]  # fmt: skip
    return table(["method", *(head for four in heads for head in four)], body)


def _keeping_seeds(stores: Stores) -> str:
    return keeping_seeds.table_of(stores[3].lines)


def _table4(stores: Stores) -> str:
    body = []
    measured = dict.fromkeys(row for store in stores[:2] for row in store.rows("table4"))
    ours = [row.name for row in ROWS if row.name in measured]
    for row in (*(row for row in measured if row not in ours), *ours):
        cells = [row]
        for score in FITTING_LAMBDAS:
            printed = TABLE4.get(row, {}).get(score)
            cells.append("" if printed is None else f"{printed}")
            for store in stores[:2]:
                lines = [line for line in store.of("table4", row) if score in line]
                cells.append(percent(best_lambda(lines, score)[1]) if lines else "")
        body.append(cells)
    return table(["rows", *(h for s in FITTING_LAMBDAS for h in (f"{s}: paper", "acs", "simulated"))], body)


def _figure5(stores: Stores) -> str:
    def seconds(store: Store, row: str) -> np.ndarray:
        return np.array([line["seconds"] for line in store.of("timing", row)])

    def cell(store: Store, row: str) -> str:
        found = seconds(store, row)
        return f"{found.mean():.2f} ({found.min():.2f} to {found.max():.2f})" if len(found) else ""

    rows = {"learn": "learn the model, ε = 1"}
    rows |= {f"release {n}": f"release {n:,} rows, ω = 9" for n in SIZES["acs"].timed}
    rows |= {"the paper's limits": "release 10,000 rows at the paper's limits, CPU seconds"}
    body = [[name, *(cell(store, row) for store in stores[:2])] for row, name in rows.items()]
    scanned = zip((SIZES["acs"].scanned, SIZES["simulated"].scanned), stores[:2], strict=True)
    scans = [f"{number / seconds(store, 'scan').mean():,.0f}" for number, store in scanned]
    (fast,) = stores[2].of("scan")
    body += [
        ["generic scan of the seeds, candidates per second", *scans],
        ["plain scan: one pass of numpy over packed prefixes, candidates per CPU second", "", f"{fast['scan']:,.0f}"],
        ["look-up of prefix groups, candidates per CPU second", "", f"{fast['look-up']:,.0f}"],
    ]  # fmt: skip
    for number in (10_000, 1_000_000):
        rate = number / seconds(stores[1], f"release {number}").mean()
        body.append(
            [
                f"release {number:,} rows: rows a second, over those of the plain scan",
                "",
                f"{rate / fast['scan']:,.0f}",
            ]
        )
    return table(["step", "acs, s", "simulated, s"], body)


def _made(stores: Stores) -> str:
    told: dict[str, list[str]] = {}
    for data, store in zip(
        ("acs", "simulated", "other readings", "seeds at equal total"), stores, strict=True
    ):
        number = {
            (line["item"], line["row"]): len(store.of(line["item"], line["row"])) for line in store.lines
        }
        most = max(number.values())
        fewer = dict.fromkeys(item for (item, _), n in number.items() if n < most)
        repeats = f"{most} repeats" + (f", fewer of lines of {', '.join(fewer)}" if fewer else "")
        at = " and ".join(f"commit `{name}`" for name in store.commits()) or f"no commit ({UNKNOWN})"
        told.setdefault(at, []).append(f"{data} ({repeats})")
    places = [f"at {at}: {' and '.join(data)}" for at, data in told.items()]
    return f"Measured {'; '.join(places)}."


_ACCURACY = {"Tree": "Tree", "RF": "RF", "Ada": "Ada"}
TABLES: dict[str, Callable[[Stores], str]] = {
    "made": _made,
    "table 3, accuracy": _scores("table3", _ACCURACY, TABLE3),
    "table 3, agreement": _scores("table3", {f"agreement {name}": name for name in _ACCURACY}, TABLE3),
    "table 4, the paper's rule": _table4_printed,
    "table 4, own norm": _table4_own_norm,
    "table 4, our rule": _table4,
    "table 5": _scores("table5", {"RF": "RF", "Tree": "Tree"}, TABLE5),
    "figure 1": _figure1,
    "figure 2": _figure2,
    "figures 3 and 4": _distances,
    "figure 5": _figure5,
    "figure 6": _passing,
    "keeping seeds": _keeping_seeds,
    "causes": differences.causes,
    "costs": differences.costs,
    "differences": differences.differences,
    "claims": claims.claims,
}


# Figures of sentences that are no results: names, settings, and what the paper says, each as it stands there.
GIVEN = (
    r"`[^`]*`", r"\]\([^)]*\)", r"<!--.*?-->", r"^\d\. ", r"PVLDB 10\(5\), 2017|ACS 2013|JMLR 2011|AdaBoostM1",
    r"inner 2\.32|with 2\.32|280,000 / 1,494,974 = 0\.187|makes 1\b|max_cost 300|, at 300;|mass 1,|maxcost of 392 to 399|at 392 to 399|98 indicators",
    r"10 rounds|20 draws|20 models|20 private models|mean of 20;|20 trees|at least 5;|2\.3 times|9 or 7 of 11|5 \(table 3\)|50 is ideal|below 1 with|norm is at most 1\b|95 % intervals",
    r"max_plausible 100, max_check_plausible (?:50|100),000|max_check_plausible 100,000|96 instances, 16 at a time|12 processes|30 % of that|over 50 %",
    r"(?:[Tt]ables?|[Ff]igures?|[Ss]ections?|Theorem|Lemma|Definition|Algorithms?|Mechanism|Test)(?: \d[\d.]*(?: to|,| and)?)+",
    r"\b[kγωεδmhd]0? ?[=∈<] ?[^\s,;:]+", r"(?:10|2)\^-\d+", r"up to 1,000,000|1/n|2/\(nλε\)|√98|\[0, 1\]|\| 6\.3 \|",
)  # fmt: skip


def loose_figures(text: str) -> list[str]:
    """Figures of the page's sentences that are neither numbers of rows in the settings nor ``GIVEN``: nothing renews them."""
    for name, block in blocks(text).items():
        text = text.replace(f"begin -->\n{block}\n<!-- {name}:", "")
    for given in GIVEN:
        text = re.sub(given, " ", text, flags=re.DOTALL | re.MULTILINE)
    sizes = {
        f"{n:,}" for size in SIZES.values() for n in vars(size).values() if isinstance(n, int) and n > 999
    }
    return [found for found in re.findall(r"\d[\d,.]*\d|\d", text) if found not in sizes]


def outlived(text: str, stores: Stores) -> list[str]:
    """Claims of the page's sentences that the stored results do not bear out, and marks that name no claim."""
    marked = re.findall(r"<!-- holds: (.+?) -->", text)
    unknown = sorted({*marked} ^ {*claims.SENTENCES})
    return unknown + [
        name for name, holds in claims.SENTENCES.items() if name in marked and not holds(stores)
    ]


def blocks(text: str) -> dict[str, str]:
    """What stands between the marks of a page, by name."""
    return dict(re.findall(r"<!-- ([\w ,']+): begin -->\n(.*?)\n<!-- \1: end -->", text, flags=re.DOTALL))


def renewed(text: str, stores: Stores) -> str:
    """The page with its tables made anew.

    Raises
    ------
    ValueError
        If the marks of a table are not there, or hold nothing.
    """
    there = blocks(text)
    if lost := {*TABLES} - {*there}:
        raise ValueError(f"the page has no tables between marks for {sorted(lost)}")
    for name, made in TABLES.items():
        text = text.replace(
            f"begin -->\n{there[name]}\n<!-- {name}:", f"begin -->\n{made(stores)}\n<!-- {name}:"
        )
    return text


def differing(text: str, stores: Stores) -> dict[str, Sequence[str]]:
    """Lines of the page's tables that the stored results do not give, by table."""
    found: dict[str, Sequence[str]] = {}
    there = blocks(text)
    for name, made in TABLES.items():
        wanted, shown = made(stores).splitlines(), there.get(name, "").splitlines()
        if wanted != shown:
            found[name] = sorted({*wanted} ^ {*shown}) or ["another order"]
    return found
