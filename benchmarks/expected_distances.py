"""How close the expected distances of a card are to the true ones.

Run: python -m benchmarks.expected_distances [--tables adult ...] [--epsilons 0.3 1 3] [--rows 3000 25000] [--undeclared]

Prints, for each fit, the mean expected distance of the columns and of the pairs with an estimate, beside the true distance between
the fitted rows and many synthetic ones: total variation distance, numbers in 16 bins with as many real rows each.
"""

from __future__ import annotations

import argparse
import itertools
import warnings

import numpy as np

from benchmarks.links import coded
from benchmarks.pair_forecasts import CHECKED, CHOSEN, table_of
from sdv_plausible.evaluation.table_codes import column_distances, pair_distances
from sdv_plausible.release.card.expected_distances import expected_distances
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer

MANY = 200_000  # synthetic rows, so that their own sampling error is small


def measure(name: str, epsilon: float, rows: int, *, is_declared: bool) -> str:
    """One line of the table: mean expected and true distances of columns and of pairs."""
    table = table_of(name)
    train = table.split(0)[0].iloc[:rows]
    metadata = metadata_from_columns({n: {"sdtype": s["sdtype"]} for n, s in table.declared.items()})
    synth = PlausibleDeniabilitySynthesizer(
        metadata, epsilon=epsilon, delta=table.delta, domain=table.declared if is_declared else None
    )
    synth.fit(train)
    release = synth.release()
    expected = expected_distances(release.answers, release.domain)
    real, sizes = coded(table.declared, train, train)
    made, _ = coded(table.declared, train, release.sample(MANY))
    names = list(table.declared)
    columns = dict(zip(names, column_distances(real, made, sizes), strict=True))
    pairs = {(names[i], names[j]): d for (i, j), d in pair_distances(real, made, sizes).items()}
    pairs |= {(b, a): d for (a, b), d in pairs.items()}
    cells = [name, f"{epsilon:g}", f"{len(train):,}"]
    for of, true in ((expected.columns, columns), (expected.pairs, pairs)):
        means = [np.mean([d[k] for k in of]) if of else np.nan for d in (of, true)]
        total = len(names) if true is columns else len(names) * (len(names) - 1) // 2
        cells += [f"{len(of)} of {total}", *(f"{mean:.3f}" for mean in means), f"{means[1] / means[0]:.2f}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--tables",
        nargs="*",
        default=["adult", "acs2018", "bank", "compas", "nist"],
        choices=[*CHOSEN, *CHECKED],
    )
    parser.add_argument("--epsilons", nargs="*", type=float, default=[0.3, 1.0, 3.0])
    parser.add_argument("--rows", nargs="*", type=int, default=[3_000, 25_000])
    parser.add_argument("--undeclared", action="store_true", help="learn the domains, too")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    heads = ("known", "expected", "true", "true / expected")
    print(
        f"| table | epsilon | rows | {' | '.join(f'{w}: {h}' for w in ('columns', 'pairs') for h in heads)} |"
    )
    print("|" + " --- |" * 11)
    for name, rows, epsilon in itertools.product(options.tables, options.rows, options.epsilons):
        print(measure(name, epsilon, rows, is_declared=not options.undeclared), flush=True)


if __name__ == "__main__":
    main()
