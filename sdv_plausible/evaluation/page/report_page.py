"""The report as one self-contained HTML page, without scripts or network requests.

:func:`public_page` takes no argument that is computed from real rows without noise, so it cannot leak them.
:func:`private_page` takes all results.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from sdv_plausible.evaluation.network_layout import Structure
from sdv_plausible.evaluation.page import sections
from sdv_plausible.evaluation.page.charts import REAL, SYNTHETIC
from sdv_plausible.evaluation.page.sections import (
    ColumnSection,
    DependenceSection,
    GuaranteeSection,
    IntervalSection,
    NetworkSection,
    pairwise_strengths,
)
from sdv_plausible.evaluation.page.summary import (
    ComparisonSummary,
    RelativeScore,
    ReleaseSummary,
    ScoreSection,
)
from sdv_plausible.utils.html_templates import HtmlPage, PageSection, count

_TEMPLATE_PACKAGES = ("sdv_plausible.evaluation.page", "sdv_plausible.privacy")  # packages with templates
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
    """All results of one table on the private page."""

    name: str
    num_rows: tuple[int, int]  # (real, synthetic)
    scores: tuple[RelativeScore, ...]  # score of each property with that of other real rows
    details: dict[str, pd.DataFrame]  # details of each property
    majority: float | None  # accuracy of always predicting the most common class
    release: ReleaseSummary
    comparison: ComparisonSummary


def public_page(
    date: str,
    guarantee: GuaranteeSection,
    releases: Mapping[str, ReleaseSummary | None],
    structure: Structure,
    margins: Sequence[pd.DataFrame] = (),
) -> str:
    """Return the publishable page about synthetic tables alone (None: nothing to show)."""
    # ``structure`` and ``margins`` must be covered by the guarantee, or empty.
    tables = [section for name, release in releases.items() for section in _released(name, release)]
    return HtmlPage(
        template_packages=_TEMPLATE_PACKAGES,
        title="Synthetic data",
        heading="Synthetic data: what it is and what protects it",
        date=date,
        kind="public",
        banner=_PUBLIC if guarantee.claimed else f"{_PUBLIC} {UNPROTECTED}",
        sections=(
            guarantee,
            *IntervalSection.of(margins),
            *tables,
            *NetworkSection.of(structure, _strengths(releases.values())),
        ),
    ).html()


def private_page(
    date: str,
    guarantee: GuaranteeSection,
    tables: Sequence[TableResults],
    structure: Structure,
    diagnostics: sections.SeedDiagnostics | None,
    failed: Mapping[str, pd.DataFrame],
    margins: Sequence[pd.DataFrame] = (),
) -> str:
    """Return the full page, NOT private; ``failed`` tables only have details with an error."""
    compared_sections = [section for table in tables for section in _compared(table)]
    failed_sections = [
        sections.HeadingSection(title=_table_title(name), words=f"Not computed: {sections.error_of(details)}")
        for name, details in failed.items()
    ]
    return HtmlPage(
        template_packages=_TEMPLATE_PACKAGES,
        title="Synthetic data report (private)",
        heading="Synthetic data: how good it is and what protects it",
        date=date,
        kind="private",
        banner=_PRIVATE,
        sections=(
            guarantee,
            *compared_sections,
            *failed_sections,
            *IntervalSection.of(margins),
            *NetworkSection.of(structure, _strengths(table.release for table in tables)),
            *sections.SeedSection.of(diagnostics),
        ),
    ).html()


def _table_title(name: str) -> str:
    """Return the heading of a table; SDV calls an unnamed table "table"."""
    return "The table" if name == "table" else f"Table {name}"


def _strengths(releases: Iterable[ReleaseSummary | None]) -> dict[frozenset[str], float]:
    """Return the dependence of pairs of columns in the synthetic tables; real tables are not used."""
    summaries = [release for release in releases if release is not None]
    return {
        pair: strength
        for release in summaries
        for pair, strength in pairwise_strengths(release.columns, release.dependence).items()
    }


def _released(name: str, release: ReleaseSummary | None) -> list[PageSection]:
    if release is None:
        return [
            sections.HeadingSection(
                title=_table_title(name), words="No synthetic rows, or no columns, to show."
            )
        ]
    return [
        sections.HeadingSection(title=_table_title(name), words=f"{count(release.num_rows)} synthetic rows."),
        ColumnSection.of(release.histograms, [("synthetic", SYNTHETIC)]),
        DependenceSection.of(release.columns, {"Synthetic": release.dependence}),
    ]


def _compared(table: TableResults) -> list[PageSection]:
    real, synthetic = table.num_rows
    details, compared = table.details, table.comparison
    matrices = {"Real": compared.real_dependence, "Synthetic": compared.synthetic_dependence}
    return [
        sections.HeadingSection(
            title=_table_title(table.name),
            words=f"{count(real)} real rows, {count(synthetic)} synthetic rows.",
        ),
        ScoreSection.of(table.scores),
        sections.DistanceSection.of(details["Column Distances"], details["Pair Distances"], compared),
        sections.ClassifierSection.of(details["Classifier Agreement"], table.majority),
        sections.GameSection.of(details["Distinguishing Game"]),
        ColumnSection.compared(table.release.columns, compared, [("real", REAL), ("synthetic", SYNTHETIC)]),
        DependenceSection.of(table.release.columns, matrices),
    ]
