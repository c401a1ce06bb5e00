"""The report as one self-contained HTML page: no script, no request.

:func:`public_page` takes nothing that was computed from real rows, so nothing of them can slip into it;
:func:`private_page` takes everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from sdv_plausible.evaluation.network_layout import Structure
from sdv_plausible.evaluation.page import sections
from sdv_plausible.evaluation.page.column_sections import Columns, Dependence, Network, strengths_of
from sdv_plausible.evaluation.page.guarantee import Guarantee, Intervals
from sdv_plausible.evaluation.page.summary import ComparisonSummary, RelativeScore, ReleaseSummary, Scores
from sdv_plausible.evaluation.page.svg import REAL, SYNTHETIC
from sdv_plausible.utils.html_page import HtmlPage, PageSection
from sdv_plausible.utils.html_templates import count

_ROOMS = ("sdv_plausible.evaluation.page", "sdv_plausible.privacy")  # where the template of a ledger is
_PUBLIC = (
    "Apart from the guarantee, everything here is computed from the synthetic table alone, or from the model "
    "and the noisy answers where the guarantee covers them: this page tells no more than they do. No figure "
    "comes from real rows directly."
)
UNPROTECTED = (
    "But no guarantee protects the synthetic table: publish this page only where you would publish the table."
)
_PRIVATE = (
    "Private: most figures here are computed from real rows without noise, and no guarantee covers them. Do "
    "not publish this page; to_html(path, publishable=True) writes one that may be."
)


@dataclass(frozen=True, kw_only=True)
class TableResults:
    """All that the private page shows of one table."""

    name: str
    num_rows: tuple[int, int]  # real and synthetic
    scores: tuple[RelativeScore, ...]  # of each property beside what real rows reach
    details: dict[str, pd.DataFrame]  # of each property for this table
    majority: float | None  # accuracy of always naming the commonest class
    release: ReleaseSummary
    comparison: ComparisonSummary


def public_page(
    date: str,
    guarantee: Guarantee,
    releases: Mapping[str, ReleaseSummary | None],
    structure: Structure,
    margins: Sequence[pd.DataFrame] = (),
) -> str:
    """Return the page that may be published: of synthetic tables alone (None: nothing to show)."""
    # ``structure`` and ``margins`` are those that the guarantee covers, or empty.
    tables = [section for name, release in releases.items() for section in _released(name, release)]
    return HtmlPage(
        rooms=_ROOMS,
        title="Synthetic data",
        heading="Synthetic data: what it is and what protects it",
        date=date,
        kind="public",
        banner=_PUBLIC if guarantee.claimed else f"{_PUBLIC} {UNPROTECTED}",
        sections=(
            guarantee,
            *Intervals.of(margins),
            *tables,
            *Network.of(structure, _strengths(releases.values())),
        ),
    ).html()


def private_page(
    date: str,
    guarantee: Guarantee,
    tables: Sequence[TableResults],
    structure: Structure,
    diagnostics: sections.SeedDiagnostics | None,
    failed: Mapping[str, pd.DataFrame],
    margins: Sequence[pd.DataFrame] = (),
) -> str:
    """Return the whole page, NOT private; of ``failed`` tables there are only details with an error."""
    compared = [section for table in tables for section in _compared(table)]
    absent = [
        sections.Heading(title=_titled(name), words=f"Not computed: {sections.error_of(details)}")
        for name, details in failed.items()
    ]
    return HtmlPage(
        rooms=_ROOMS,
        title="Synthetic data report (private)",
        heading="Synthetic data: how good it is and what protects it",
        date=date,
        kind="private",
        banner=_PRIVATE,
        sections=(
            guarantee,
            *compared,
            *absent,
            *Intervals.of(margins),
            *Network.of(structure, _strengths(table.release for table in tables)),
            *sections.Seeds.of(diagnostics),
        ),
    ).html()


def _titled(name: str) -> str:
    """Return the heading of a table; one without a name of its own is called "table" by SDV."""
    return "The table" if name == "table" else f"Table {name}"


def _strengths(releases: Iterable[ReleaseSummary | None]) -> dict[frozenset[str], float]:
    """Return how dependent columns of the synthetic tables are; no other table is asked."""
    shown = [release for release in releases if release is not None]
    return {
        pair: strength
        for release in shown
        for pair, strength in strengths_of(release.columns, release.dependence).items()
    }


def _released(name: str, release: ReleaseSummary | None) -> list[PageSection]:
    if release is None:
        return [sections.Heading(title=_titled(name), words="No synthetic rows, or no columns, to show.")]
    return [
        sections.Heading(title=_titled(name), words=f"{count(release.num_rows)} synthetic rows."),
        Columns.of(release.histograms, [("synthetic", SYNTHETIC)]),
        Dependence.of(release.columns, {"Synthetic": release.dependence}),
    ]


def _compared(table: TableResults) -> list[PageSection]:
    real, synthetic = table.num_rows
    details, compared = table.details, table.comparison
    matrices = {"Real": compared.real_dependence, "Synthetic": compared.synthetic_dependence}
    return [
        sections.Heading(
            title=_titled(table.name), words=f"{count(real)} real rows, {count(synthetic)} synthetic rows."
        ),
        Scores.of(table.scores),
        sections.Distances.of(details["Column Distances"], details["Pair Distances"], compared),
        sections.Classifiers.of(details["Classifier Agreement"], table.majority),
        sections.Game.of(details["Distinguishing Game"]),
        Columns.compared(table.release.columns, compared, [("real", REAL), ("synthetic", SYNTHETIC)]),
        Dependence.of(table.release.columns, matrices),
    ]
