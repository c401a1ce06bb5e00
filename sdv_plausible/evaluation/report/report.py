"""The evaluation report, on SDMetrics' unified report.

SDMetrics imports it whenever SDV is imported: measures and page are imported when a report is made.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from sdmetrics.reports.base_unified_report import BaseUnifiedReport

from sdv_plausible.evaluation import page, table_pair
from sdv_plausible.evaluation.table_pair import DEFAULT_NUM_BINS, DISTINGUISHERS
from sdv_plausible.utils import html_templates
from sdv_plausible.utils.atomic_files import write_whole

if TYPE_CHECKING:
    from sdv_plausible.evaluation.page import report_page, summary

_SHOWN = "PlausibleDeniabilityReport (private: computed from real rows without noise)"
_SHOWN_HEAD = ("property", "score", "real against real", "relative")


class PlausibleDeniabilityReport(BaseUnifiedReport):  # type: ignore[misc]
    """How useful a release is, and what guarantee it carries.

    The properties are "Column Distances", "Pair Distances", "Classifier Agreement" and "Distinguishing Game"
    ([PD] sections 6.2 to 6.4). They and everything computed from real rows are private: no guarantee covers
    them. The guarantee comes from the ledger alone, never from a distance.

    Parameters
    ----------
    ledger : PrivacyLedger or dict, optional
        The release's ledger (``synthesizer.privacy_ledger()``), or what was read from its JSON; read once,
        here. Without it the report says that no guarantee is documented.
    diagnostics : dict, optional
        Plausible-seed statistics, as ``synthesizer.seed_diagnostics()`` gives them: ``"plausible_seeds"``,
        their number for each of some candidates, and ``"pass_rates"``, ``{k: {omega: share of candidates with
        at least k}}``. Private; never in a publishable page.
    structure : dict of str to list of str, optional
        ``{child: parents}`` of the model's Bayesian network.
    margins : sequence of DataFrame
        Counts with intervals, each from ``synthesizer.margins(columns)``; on a publishable page only under a
        claim.
    holdout : DataFrame or dict of str to DataFrame, optional
        Real rows that the synthesizer never saw: classifiers are tested on them, the game is played with
        them, and distances are set beside those between them and the real rows.
    target : str, optional
        Column that classifiers predict; by default the last categorical one with 2 to 50 real values.
    classifiers : str or sequence of str
        Of ``tree``, ``random_forest``, ``adaboost``, ``logistic_regression``, ``linear_svm``.
    distinguishers : str or sequence of str
        Players of the game, of the same names.
    num_runs : int
        Runs of classifiers and game, each with fresh splits, at least 1.
    max_rows : int or None
        Rows of both tables together that a run trains on, and that it tests on, at most: half of them are
        real, half synthetic. At least 4, or None for no bound.
    max_rows_distances : int or None
        Rows of each table that distances are computed from, at most; None for all.
    num_bins : int
        Quantile bins of numerical columns, at least 1.
    random_state : int
        Seed of subsamples, splits and classifiers.

    Raises
    ------
    ValueError
        If ``structure`` has a cycle, ``diagnostics`` other parts than the two, or ``ledger`` is no ledger.
    """

    def __init__(
        self,
        *,
        ledger: Any = None,
        diagnostics: Mapping[str, Any] | None = None,
        structure: Mapping[str, str | Sequence[str]] | None = None,
        margins: Sequence[pd.DataFrame] = (),
        holdout: Any = None,
        target: str | None = None,
        classifiers: str | Sequence[str] = ("tree", "random_forest", "adaboost"),
        distinguishers: str | Sequence[str] = DISTINGUISHERS,
        num_runs: int = 3,
        max_rows: int | None = 10_000,
        max_rows_distances: int | None = 200_000,
        num_bins: int = DEFAULT_NUM_BINS,
        random_state: int = 0,
    ) -> None:
        from sdv_plausible.evaluation.classifiers import names_of
        from sdv_plausible.evaluation.network_layout import as_structure, layers
        from sdv_plausible.evaluation.report import report_properties

        super().__init__()
        self.options = report_properties.ReportOptions(
            target=target,
            classifiers=names_of("classifiers", classifiers),
            distinguishers=names_of("distinguishers", distinguishers),
            num_runs=num_runs,
            max_rows=max_rows,
            max_rows_distances=max_rows_distances,
            num_bins=num_bins,
            random_state=random_state,
        )
        self._guarantee = page.guarantee.Guarantee.of(ledger)
        self._diagnostics = page.sections.SeedDiagnostics.of(diagnostics)
        self._structure = as_structure(structure or {})
        layers(self._structure)  # a cycle is an error now, not after the work
        page.guarantee.Intervals.of(margins)  # so is a table that is none of margins
        self._margins = tuple(margins)
        self._holdout = holdout
        self._release: dict[str, summary.ReleaseSummary] = {}
        self._comparison: dict[str, summary.ComparisonSummary] = {}
        self._scores: dict[str, tuple[summary.RelativeScore, ...]] = {}
        self._properties = {
            name: report_properties.ReportProperty(kind, self.options)
            for name, kind in report_properties.PROPERTIES.items()
        }

    def generate(
        self,
        real_data: Any,
        synthetic_data: Any,
        metadata: Any,
        constraints: Any = None,
        verbose: bool = True,
        begin: Callable[[], object] | None = None,
    ) -> None:
        """Compute all properties and what the HTML page shows.

        Parameters
        ----------
        real_data, synthetic_data : DataFrame or dict of str to DataFrame
            The tables.
        metadata : dict or sdv.metadata.Metadata
            Metadata of one table or of all.
        constraints : ignored
            For compatibility with SDMetrics.
        verbose : bool
            Whether to print progress and scores.
        begin : callable, optional
            Called without arguments before each of the four properties, and before the page is prepared.

        Raises
        ------
        ValueError
            If metadata and tables do not name the same tables and columns, or a target column does not exist.
        """
        self._forget()
        described = table_pair.described_tables(metadata, real_data, synthetic_data)
        names = list(described["tables"])
        real, synthetic = (
            {name: table_pair.with_moments(frame, described["tables"][name]) for name, frame in found.items()}
            for found in (
                table_pair.by_table(real_data, names, "real_data"),
                table_pair.by_table(synthetic_data, names, "synthetic_data"),
            )
        )
        holdouts = {} if self._holdout is None else table_pair.by_table(self._holdout, names, "holdout")
        self._check_names(described)
        for report_property in self._properties.values():
            report_property.holdouts, report_property.begin = holdouts, begin
        try:
            with warnings.catch_warnings():
                # where no property could be computed the score is NaN and the details say why
                warnings.filterwarnings("ignore", message="Mean of empty slice")
                super().generate(real, synthetic, described, constraints, verbose)
            if begin is not None:
                begin()
            for one in names:
                self._summarise(one, real[one], synthetic[one], described["tables"][one], holdouts.get(one))
            if verbose:
                score = f"{100 * self.get_score():.2f}%"
                print(f"Overall Score (mean share of what real rows reach): {score}\n")
        except BaseException:
            self._forget()
            raise
        finally:
            # what is saved with the report must hold no rows
            self._original_datetime_columns: dict[str, Any] = {}
            for report_property in self._properties.values():
                report_property.holdouts, report_property.begin = {}, None

    def _forget(self) -> None:
        """Drop all results: a report must never show a part of an earlier one, or half of one."""
        self._release, self._comparison, self._scores, self.is_generated = {}, {}, {}, False

    def _check_names(self, described: dict[str, Any]) -> None:
        target = self.options.target
        columns = {
            c for t in described["tables"].values() for c in table_pair.column_kinds(t, pd.DataFrame())
        }
        if target is not None and target not in columns:
            raise ValueError(f"target ({target!r}) must be one of the compared columns: {sorted(columns)}")
        drawn = set(self._structure).union(*self._structure.values())
        known = {name for table in described["tables"].values() for name in table.get("columns", {})}
        if drawn - known:
            raise ValueError(
                f"structure names {sorted(drawn - known)}, which are not columns of the metadata: "
                f"{sorted(known)}"
            )

    def _summarise(
        self, name: str, real: pd.DataFrame, synthetic: pd.DataFrame, described: dict[str, Any], holdout: Any
    ) -> None:
        kinds, options = table_pair.column_kinds(described, pd.DataFrame()), self.options
        if not kinds or synthetic.empty:
            return
        self._release[name] = page.summary.summarise_release(
            synthetic,
            kinds,
            table_pair.formats_of(described, kinds, synthetic),
            num_bins=options.num_bins,
            max_rows=options.max_rows_distances,
            random_state=options.random_state,
        )
        if real.empty:  # the release's summary must not depend on it
            return
        pair: table_pair.TablePair = table_pair.prepare(real, synthetic, described)
        self._comparison[name] = page.summary.summarise_comparison(
            pair,
            self._properties["Pair Distances"].of_table(name).statistics,
            holdout=table_pair.prepare_holdout(pair, holdout),
            num_bins=options.num_bins,
            max_rows=options.max_rows_distances,
            random_state=options.random_state,
        )
        details = {key: self.get_details(key, name) for key in self._properties}
        self._scores[name] = page.summary.relative_scores(details, self._comparison[name])

    def get_score(self) -> float:
        """Return the mean over properties of the share that is reached of what other real rows reach."""
        self._check_report_generated()
        shares = self.get_properties()["Relative"]
        return float(shares.mean())

    def get_properties(self) -> pd.DataFrame:
        """Return the score of each property, that of other real rows, and the share that is reached.

        Columns are "Property", "Score", "Real Against Real" and "Relative".
        Of several tables these are means.
        """
        found = super().get_properties()
        every = [one for scores in self._scores.values() for one in scores]
        by_name = [[one for one in every if one.name == name] for name in found["Property"]]
        found["Real Against Real"] = [pd.Series([one.ceiling for one in row]).mean() for row in by_name]
        found["Relative"] = [pd.Series([one.relative for one in row]).mean() for row in by_name]
        return found

    def __repr__(self) -> str:
        return html_templates.text(_SHOWN, self._lines(), self._said())

    def _repr_html_(self) -> str:
        return html_templates.fragment(_SHOWN, head=_SHOWN_HEAD, rows=self._lines(), notes=self._said())

    def _lines(self) -> list[tuple[str, ...]]:
        """Return scores in words, none before there are some."""
        if not self.is_generated:
            return []
        shares = self.get_properties().itertuples(index=False)
        return [
            (str(name), *(html_templates.percent(float(value)) for value in values))
            for name, *values in shares
        ]

    def _said(self) -> list[str]:
        if not self.is_generated:
            return ["not generated"]
        return [f"Overall {html_templates.percent(self.get_score())}", self._guarantee.words.first]

    def _print_results(self, verbose: bool) -> None:
        """Print nothing yet: the overall score needs what :meth:`generate` computes after the properties."""

    def get_visualization(self, property_name: str, table_name: str | None = None) -> Any:
        """Return a plotly figure of a property; ``table_name`` may be left out if there is one table."""
        self._check_report_generated()
        if table_name is None and len(self.table_names) == 1:
            table_name = self.table_names[0]
        return super().get_visualization(property_name, table_name)

    def to_html(self, path: str | Path, *, publishable: bool = False) -> None:
        """Write the report as one self-contained HTML file: no script, no network.

        One that is not publishable, or that no guarantee protects, can be read by its owner alone.

        Parameters
        ----------
        path : str or Path
            The file; an existing one is replaced.
        publishable : bool
            False writes everything, and a warning that the page is private. True keeps only what no real row
            has entered but through the guarantee: the ledger, pictures of the synthetic table alone, and the
            network and ``margins`` if the ledger covers them. Scores, distances, real histograms and row
            counts, classifiers and seed statistics are functions of real rows without noise and are left out.
            Types are those of ``metadata``: write them, or detect them in the synthetic rows; one real cell
            can change what is detected in real ones.

        Raises
        ------
        ValueError
            If the report has not been generated.
        """
        self._check_report_generated()
        date = str(self.report_info["generated_date"])
        if publishable:
            covered = self._structure if self._guarantee.covers_structure else {}
            releases = {name: self._release.get(name) for name in self.table_names}
            paid = self._margins if self._guarantee.claimed else ()
            text = page.report_page.public_page(date, self._guarantee, releases, covered, paid)
        else:
            failed = {
                n: self.get_details("Column Distances", n)
                for n in self.table_names
                if n not in self._comparison
            }
            text = page.report_page.private_page(
                date,
                self._guarantee,
                self._results(),
                self._structure,
                self._diagnostics,
                failed,
                self._margins,
            )
        write_whole(path, text, owner_only=not (publishable and self._guarantee.claimed))

    def save(self, filepath: str | Path) -> None:
        """Write the report, whole or not at all, for its owner alone; :meth:`load` reads it."""
        write_whole(
            filepath, lambda path: super(PlausibleDeniabilityReport, self).save(str(path)), owner_only=True
        )

    def _results(self) -> list[report_page.TableResults]:
        return [
            page.report_page.TableResults(
                name=name,
                num_rows=(self.report_info["num_rows_real_data"][name], self._release[name].num_rows),
                scores=self._scores[name],
                details={key: self.get_details(key, name) for key in self._properties},
                majority=self._properties["Classifier Agreement"].of_table(name).majority,
                release=self._release[name],
                comparison=comparison,
            )
            for name, comparison in self._comparison.items()
        ]

    def __getstate__(self) -> dict[str, Any]:
        """Leave the held-out rows out of a saved report: it holds aggregates only."""
        return {**self.__dict__, "_holdout": None}
