"""What the page of the paper's results says in words, judged by what is stored: no sentence outlives its numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from benchmarks.paper import keeping_seeds
from benchmarks.paper.data import NAMES
from benchmarks.paper.published import TABLE3, TABLE4, TABLE5
from benchmarks.paper.readings import SEARCHES, guessed
from benchmarks.paper.report import improvement, printed_lambda, table, vectors
from benchmarks.paper.settings import FITTING_LAMBDAS, KS, LAMBDAS, OMEGAS, ROWS
from benchmarks.paper.store import Store


class Stores(NamedTuple):
    """What was measured: the two data sets, other readings of the paper, and seeds at equal total."""

    acs: Store
    simulated: Store
    readings: Store
    seeds: Store


OWN_NORM_LAMBDAS = {
    "LR": 1e-4,
    "SVM": 1e-3,
}  # at which the paper's numbers are nearest, every row by its own norm
CLOSE = 2.0  # points, of what the paper printed: nearer is no difference
AMPLIFIED, CHILDREN, GRAPH = (f"ω=11, {name}" for name in ("ε=1 after amplification", "child after child, ε=1 after amplification", "example graph"))  # fmt: skip
ACCURACY = ("Tree", "RF", "Ada")


def points(store: Store, item: str, row: str, score: str) -> float:
    """Mean over repeats, in per cent; of table 4 by the paper's rule at its lambda."""
    lines = store.of(item, row)
    if item == "table4 printed":
        return 100 * float(vectors(lines, score)[:, printed_lambda(store, score)].mean())
    return 100 * float(np.mean([line[score] for line in lines if score in line]))


# Sentences of the page: each ends in <!-- holds: name -->, and says no more than is asked here.


def _better(stores: Stores) -> bool:
    return all(points(stores[1], "table3", "ω=11", s) > TABLE3["ω=11"][s] + CLOSE for s in ("Tree", "RF"))


def _given_the_graph(stores: Stores) -> bool:
    return all(abs(points(stores[1], "table3", GRAPH, s) - TABLE3["ω=11"][s]) <= CLOSE for s in ACCURACY)


def _order(stores: Stores) -> bool:
    return all(
        max(line["random"]) < line["fitted"] == line["of"] - 1 and 2 * np.median(line["random"]) < line["of"]
        for line in stores[0].of("causes", "order of the children")
    )


def _few_rows(stores: Stores) -> bool:
    noised, plain = ([points(stores[0], "table3", row, s) for s in ACCURACY] for row in ("ω=11", "ω=11, not noised"))  # fmt: skip
    printed = [TABLE3["ω=11"][s] for s in ACCURACY]
    return bool(np.subtract(plain, noised).min() > CLOSE and np.subtract(plain, printed).min() > -1)


def _reals(stores: Stores) -> bool:
    return all(abs(points(stores[1], "table3", "reals", s) - TABLE3["reals"][s]) <= 1 for s in ACCURACY)


def _not_the_noise(stores: Stores) -> bool:
    return all(abs(points(stores[1], "table3", "ω=11, not noised", s) - points(stores[1], "table3", "ω=11", s)) <= 1 for s in ("Tree", "RF"))  # fmt: skip


def _printed_noise(stores: Stores) -> bool:
    return all(points(stores[1], "table3", "ω=11, noise as printed", s) < points(stores[1], "table3", "ω=11", s) for s in ("Tree", "RF"))  # fmt: skip


def _a_lambda_for_each(stores: Stores) -> bool:
    lost = []
    for score, value in FITTING_LAMBDAS.items():
        for row in ("not private", "output perturbation", "objective perturbation"):
            lines, at = stores[1].of("table4 printed", row), LAMBDAS.index(value)
            off = abs(100 * vectors(lines, score)[:, at].mean() - TABLE4[row][score])
            lost.append((row, score) if off > 1 else None)
    return [row for row in lost if row] == [("output perturbation", "LR")]


def _perturbed(stores: Stores) -> bool:
    def best(row: str, score: str) -> float:
        return float(100 * vectors(stores[1].of("table4", row), score).mean(axis=0).max())

    learned = [row.name for row in ROWS if row.kind not in ("reals", "ours")]
    return all(
        best("objective perturbation", s) > max(best(row, s) for row in learned)
        and abs(best("objective perturbation", s) - best("ours (default)", s)) <= 1
        for s in FITTING_LAMBDAS
    )


def _seeds_on_top(stores: Stores) -> bool:
    def far(row: str, key: str) -> float:
        return float(vectors(stores[1].of("distances", row), key).mean())

    trees = [points(stores[1], "table3", row, "Tree") for row in ("ω=11", "ω∈[5-11]")]
    return trees[1] > trees[0] - 1 and all(far("ω∈[5-11]", k) > far("ω=11", k) for k in ("values", "pairs"))


def _order_of_resampling(stores: Stores) -> bool:
    def share(store: Store, row: str) -> float:
        return float(vectors(store.of("passing", row)).mean(axis=0)[KS.index(100)])

    return all(share(s, "ω∈[5-11], order of the example graph") < share(s, "ω∈[5-11]") for s in stores[:2])


def _spread(stores: Stores) -> bool:
    learned, given = ([line["RF"] for line in stores[0].of("table3", row)] for row in ("ω=11", GRAPH))
    return float(np.std(given, ddof=1)) < float(np.std(learned, ddof=1)) / 2


def _weak_learners(stores: Stores) -> bool:
    lines = {"reals": ("reals",), "marginals": ("marginals",), GRAPH: tuple(OMEGAS)}

    def is_near(store: Store, size: str, row: str) -> bool:
        printed = [TABLE3[name]["agreement Ada"] for name in lines[row]]
        found = points(store, "causes", f"AdaBoost on {size}, {row}", "agreement")
        return min(printed) - CLOSE <= found <= max(printed) + CLOSE

    sizes = ("stumps", "4 leaves", "11 leaves")
    return is_near(stores[0], "11 leaves", GRAPH) and not any(
        all(is_near(store, size, row) for row in lines) for store in stores[:2] for size in sizes
    )


def own_norm(stores: Stores, row: str, score: str) -> float:
    """Table 4 with every row divided by its own norm, at the lambda that is nearest to the paper's numbers."""
    return 100 * float(vectors(stores[2].of("own norm", row), score)[:, LAMBDAS.index(OWN_NORM_LAMBDAS[score])].mean())  # fmt: skip


def _either_norm(stores: Stores) -> bool:
    def off(row: str) -> tuple[float, float]:
        wide = vectors(stores[1].of("table4 printed", row), "LR")[:, LAMBDAS.index(FITTING_LAMBDAS["LR"])]
        return abs(own_norm(stores, row, "LR") - TABLE4[row]["LR"]), abs(100 * wide.mean() - TABLE4[row]["LR"])  # fmt: skip

    (own, wide), (own_objective, wide_objective) = (off(f"{name} perturbation") for name in ("output", "objective"))  # fmt: skip
    return own < wide and own_objective > wide_objective


def guessed_agreement(stores: Stores) -> float:
    """Agreement of guesses as accurate as the paper's forest of marginals, with the forest of real rows."""
    lines = stores[2].of("forests", "100 trees")
    return 100 * float(np.mean([guessed(TABLE3["marginals"]["RF"] / 100, x["rich"], x["rate of reals"]) for x in lines]))  # fmt: skip


def _one_difference(stores: Stores) -> bool:
    lines = stores[2].of("forests", "100 trees")
    blind = [guessed(x["accuracy"], x["rich"], x["rate of reals"]) - x["agreement"] for x in lines]
    return bool(
        abs(guessed_agreement(stores) - TABLE3["marginals"]["agreement RF"]) < 1
        and 100 * np.abs(blind).max() < 1
    )


def _keeping(stores: Stores) -> bool:
    """No line of seeds is better than the model alone in any score, and each is worse in distances; intervals considered."""
    lines = [(total, tried) for total, every in keeping_seeds.TRIED.items() for tried in every[1:]]
    found = stores[3].lines
    return not any(
        keeping_seeds.is_better(found, *line, score) for line in lines for score in keeping_seeds.SCORES
    ) and all(keeping_seeds.is_farther(found, *line, score) for line in lines for score in ("1-way", "2-way"))


SENTENCES: dict[str, Callable[[Stores], bool]] = {
    "better than printed": _better,
    "given the graph": _given_the_graph,
    "the order is a hypothesis": _order,
    "few rows": _few_rows,
    "reals": _reals,
    "not the noise": _not_the_noise,
    "noise as printed": _printed_noise,
    "a λ for each": _a_lambda_for_each,
    "objective perturbation": _perturbed,
    "order of resampling": _order_of_resampling,
    "seeds on top": _seeds_on_top,
    "spread": _spread,
    "readings of figure 1": lambda stores: (
        [holds for holds, _ in _caption(stores)] == [False, True, True, False]
    ),
    "weak learners": _weak_learners,
    "either norm": _either_norm,
    "one difference": _one_difference,
    "keeping seeds": _keeping,
}


# The paper's claims, judged on simulated rows: whether they hold, and by which figures.


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of the paper: what it says, where, and a judge of it that names the figures."""

    text: str
    where: str
    judge: Callable[[Stores], tuple[bool, str]]


def _but_for(names: Sequence[str]) -> str:
    return f"but for {', '.join(names)}" if names else "for every attribute"


def _as_printed(store: Store, score: str) -> tuple[bool, str]:
    released, reals, theirs = (points(store, "table3", row, score) for row in (AMPLIFIED, "reals", CHILDREN))
    return released >= TABLE3["ω=11"][score] - 1, f"{released:.1f} and {reals:.1f}; {theirs:.1f} child after child"  # fmt: skip


def _linear(store: Store) -> tuple[bool, str]:
    told, won = [], {}
    for row in (CHILDREN, "ω=11"):
        for score in FITTING_LAMBDAS:
            ours, rival = (points(store, "table4 printed", r, score) for r in (row, "objective perturbation"))
            won[row, score] = ours > rival
            told.append(f"{score} {'wins' if ours > rival else 'loses'}, {ours:.1f} against {rival:.1f}")
    return won[CHILDREN, "LR"] and not won[CHILDREN, "SVM"], f"child after child: {'; '.join(told[:2])}. Best arc: {'; '.join(told[2:])}"  # fmt: skip


def _agreement(store: Store) -> tuple[bool, str]:
    scores = [f"agreement {name}" for name in ACCURACY]
    least = [min(points(store, "table3", row, s) - points(store, "table3", "marginals", s) for row in OMEGAS) for s in scores]  # fmt: skip
    return min(least) > 0, "by " + ", ".join(f"{gap:.1f}" for gap in least) + " points at least"


def _game(store: Store) -> tuple[bool, str]:
    most, others = max(points(store, "table5", row, "RF") for row in OMEGAS), [points(store, "table5", row, "RF") for row in ("marginals", "ω=11, noise as printed")]  # fmt: skip
    return most <= TABLE5["ω=9"]["RF"], f"{most:.1f}, marginals {others[0]:.1f}; {others[1]:.1f} with the noise as printed"  # fmt: skip


def _near(store: Store) -> tuple[bool, str]:
    def off(row: str, key: str) -> float:
        ratio = vectors(store.of("distances", row), key).mean() / vectors(store.of("distances", "marginals"), key).mean()  # fmt: skip
        return float(ratio)

    pairs, far = max(off(row, "pairs") for row in OMEGAS), [row for row in OMEGAS if off(row, "values") > 1.5]
    told = f"pairs at {pairs:.2f} of the marginals' at most; columns within half as much again"
    return pairs < 1, told + (f" but for {', '.join(far)}" if far else "")


def _gains(store: Store) -> tuple[np.ndarray, ...]:
    return tuple(100 * improvement(store, f"model, ε={e}") for e in ("inf", "1, 20 models", "0.1, 20 models"))


def _read(stores: Stores, search: str) -> tuple[np.ndarray, ...]:
    """The same after amplification."""
    return tuple(100 * improvement(stores[2], f"{search}, {noise}", "figure 1") for noise in ("not noised", "ε=1 after amplification", "ε=0.1 after amplification"))  # fmt: skip


def _kept(gains: tuple[np.ndarray, ...], which: int) -> tuple[bool, str]:
    lost = [f'"{name}" ({gains[0][j]:.1f} to {gains[which][j]:.1f})' for j, name in enumerate(NAMES) if gains[which][j] < gains[0][j] - CLOSE]  # fmt: skip
    return len(lost) <= len(NAMES) // 4, f"within two points {_but_for(lost)}"


def _keeps(store: Store, which: int) -> tuple[bool, str]:
    return _kept(_gains(store), which)


def _keeps_amplified(stores: Stores) -> tuple[bool, str]:
    judged = {search: _kept(_read(stores, search), 2) for search in SEARCHES}
    return all(holds for holds, _ in judged.values()), "; ".join(f"{search}: {told}" for search, (_, told) in judged.items())  # fmt: skip


def _other_graph_amplified(stores: Stores) -> tuple[bool, str]:
    judged = {search: _differ(_read(stores, search)) for search in SEARCHES}
    return any(holds for holds, _ in judged.values()), "; ".join(f"{search}: {told}" for search, (_, told) in judged.items())  # fmt: skip


def _caption(stores: Stores) -> list[tuple[bool, str]]:
    """The two sentences of figure 1's caption, each with one ε for both parts and after amplification."""
    return [_keeps(stores[1], 2), _keeps_amplified(stores), _other_graph(stores[1]), _other_graph_amplified(stores)]  # fmt: skip


def _other_graph(store: Store) -> tuple[bool, str]:
    return _differ(_gains(store))


def _differ(gains: tuple[np.ndarray, ...]) -> tuple[bool, str]:
    _, one, tenth = gains
    shown = {name: (one[NAMES.index(name)], tenth[NAMES.index(name)]) for name in ("race", "birth area")}
    return all(a - b > CLOSE for a, b in shown.values()), ", ".join(f"{a:.1f} and {b:.1f}" for a, b in shown.values())  # fmt: skip


def _accuracy(store: Store, others: Sequence[str], sign: int) -> tuple[bool, str]:
    model, *rest = (
        100 * vectors(store.of("accuracy", row)).mean(axis=0) for row in ("model, ε=inf", *others)
    )
    rival = np.max(rest, axis=0)
    less = [f'"{name}"' for j, name in enumerate(NAMES) if sign * (model[j] - rival[j]) < 0.05]
    return sign * (model.mean() - rival.mean()) > 0, f"{model.mean():.1f} and {rival.mean():.1f} in the mean, {_but_for(less)}"  # fmt: skip


def _passing(store: Store) -> tuple[bool, str]:
    rows = ("ω∈[5-11], hidden, γ=2", "ω∈[5-11], hidden, γ=2, 100,000 seeds checked")
    shares = [100 * vectors(store.of("passing", row)).mean(axis=0)[KS.index(100)] for row in rows]
    return min(shares) > 50, f"{shares[0]:.1f} %, {shares[1]:.1f} % with 100,000 seeds checked"


def _million(store: Store) -> tuple[bool, str]:
    seconds = np.mean([line["seconds"] for line in store.of("timing", "release 1000000")])
    return bool(seconds < 3600), f"{seconds:.1f} s on one"


def _simulated(
    judge: Callable[..., tuple[bool, str]], **chosen: object
) -> Callable[[Stores], tuple[bool, str]]:
    return lambda stores: judge(stores[1], **chosen)


CLAIMS = (
    Claim(text="forest on released rows 75.3 %, on reals 80.4 %", where="introduction, table 3", judge=_simulated(_as_printed, score="RF")),
    Claim(text="AdaBoost 78.1 %, on reals 79.3 %", where="introduction, table 3", judge=_simulated(_as_printed, score="Ada")),
    Claim(text="logistic regression beats objective perturbation, the SVM does not", where="introduction, table 4", judge=_simulated(_linear)),
    Claim(text="classifiers agree with those of reals more than marginals' do", where="table 3", judge=_simulated(_agreement)),
    Claim(text="a distinguisher is right in at most 63 %, of marginals in 79.8 %", where="introduction, table 5", judge=_simulated(_game)),
    Claim(text="pairs are nearer than marginals', single columns about as near", where="figures 3, 4", judge=_simulated(_near)),
    Claim(text="low decrease from no noise to ε = 1", where="figure 1", judge=_simulated(_keeps, which=1)),
    Claim(text="at ε = 0.1 the improvement is comparable to that without noise", where="figure 1's caption", judge=_simulated(_keeps, which=2)),
    Claim(text="the same, ε = 0.1 after amplification", where="figure 1's caption", judge=_keeps_amplified),
    Claim(text='another noise leads to another graph, so that "race" and "birth area" differ between ε = 1 and ε = 0.1', where="figure 1's caption", judge=_simulated(_other_graph)),
    Claim(text="the same, both after amplification", where="figure 1's caption", judge=_other_graph_amplified),
    Claim(text="the model without noise is below the random forest", where="figure 2", judge=_simulated(_accuracy, others=["random forest, 280,000 rows"], sign=-1)),
    Claim(text="it is above marginals and random guessing", where="figure 2", judge=_simulated(_accuracy, others=["marginals", "random"], sign=1)),
    Claim(text="over half of the candidates pass at k = 100, ω∈[5-11]", where="6.5", judge=_simulated(_passing)),
    Claim(text="a million rows in under an hour on 12 processes", where="introduction", judge=_simulated(_million)),
)  # fmt: skip


def claims(stores: Stores) -> str:
    """The paper's claims and how they fare."""
    judged = [(claim, *claim.judge(stores)) for claim in CLAIMS]
    body = [[c.text, c.where, f"{'holds' if holds else '**does not hold**'}: {told}"] for c, holds, told in judged]  # fmt: skip
    return table(["claim of [PD]", "where", "here"], body)
