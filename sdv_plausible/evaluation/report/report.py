"""The evaluation report, built on SDMetrics' unified report.

SDMetrics imports this module whenever SDV is imported. The measures and the page are therefore imported
lazily, when a report is made.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from sdmetrics.reports.base_unified_report import BaseUnifiedReport

from sdv_plausible.evaluation import DEFAULT_NUM_BINS, DISTINGUISHERS, page
from sdv_plausible.utils.atomic_files import write_atomically

if TYPE_CHECKING:
    from sdv_plausible.evaluation import table_pair
    from sdv_plausible.evaluation.page import report_page, summary

_REPR_TITLE = "PlausibleDeniabilityReport (private: computed from real rows without noise)"
_REPR_COLUMNS = ("property", "score", "real against real", "relative")


class PlausibleDeniabilityReport(BaseUnifiedReport):  # type: ignore[misc]
    """Report on the utility of a release and its privacy guarantee.

    The properties are "Column Distances", "Pair Distances", "Classifier Agreement" and "Distinguishing Game"
    ([PD] sections 6.2 to 6.4). They are computed from real rows without noise, so they are private. The
    guarantee is copied from the ledger; it is never inferred from a distance.

    Parameters
    ----------
    ledger : PrivacyLedger or dict, optional
        The release's ledger (``synthesizer.privacy_ledger()``), or a dict read from its JSON. It is read
        once, here. Without it the report states that no guarantee is documented.
    diagnostics : dict, optional
        Plausible-seed statistics from ``synthesizer.seed_diagnostics()``: ``"plausible_seeds"``, the number
        of plausible seeds of each candidate, and ``"pass_rates"``, ``{k: {omega: share of candidates with at
        least k}}``. Private; never in a publishable page.
    structure : dict of str to list of str, optional
        ``{child: parents}`` of the model's Bayesian network.
    margins : sequence of DataFrame
        Counts with intervals, each from ``synthesizer.margins(columns)``. A publishable page shows them only
        under a privacy claim.
    holdout : DataFrame or dict of str to DataFrame, optional
        Real rows unseen by the synthesizer. Classifiers are tested on them, the distinguishing game uses
        them, and their distance from the real rows is the reference for all distances.
    target : str, optional
        Column that classifiers predict; by default the last categorical one with 2 to 50 real values.
    classifiers : str or sequence of str
        Of ``tree``, ``random_forest``, ``adaboost``, ``logistic_regression``, ``linear_svm``.
    distinguishers : str or sequence of str
        Classifiers of the distinguishing game; same names.
    num_runs : int
        Number of runs of classifiers and game, each with fresh splits, at least 1.
    max_rows : int or None
        Maximum number of rows of both tables together that a run trains on, and that it tests on; half are
        real and half synthetic. At least 4, or None for no limit.
    max_rows_distances : int or None
        Maximum number of rows of each table used for distances; None for all.
    num_bins : int
        Quantile bins of numerical columns, at least 1.
    random_state : int
        Seed of subsamples, splits and classifiers.

    Raises
    ------
    ValueError
        If ``structure`` has a cycle, ``diagnostics`` has unknown keys, or ``ledger`` is not a ledger.
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
        from sdv_plausible.evaluation.classifiers import check_classifier_names
        from sdv_plausible.evaluation.network_layout import as_structure, layers
        from sdv_plausible.evaluation.page.sections import GuaranteeSection, IntervalSection, SeedDiagnostics
        from sdv_plausible.evaluation.report import report_properties

        super().__init__()
        self.options = report_properties.ReportOptions(
            target=target,
            classifiers=check_classifier_names("classifiers", classifiers),
            distinguishers=check_classifier_names("distinguishers", distinguishers),
            num_runs=num_runs,
            max_rows=max_rows,
            max_rows_distances=max_rows_distances,
            num_bins=num_bins,
            random_state=random_state,
        )
        self._guarantee = GuaranteeSection.of(ledger)
        self._diagnostics = SeedDiagnostics.of(diagnostics)
        self._structure = as_structure(structure or {})
        layers(self._structure)  # raise on a cycle now, before any work
        IntervalSection.of(margins)  # likewise on an invalid table of margins
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
        """Compute all properties and the contents of the HTML page.

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
            If metadata and tables do not have the same tables and columns, or the target column does not
            exist.
        """
        from sdv_plausible.evaluation import table_pair

        self._clear_results()
        document = table_pair.metadata_by_table(metadata, real_data, synthetic_data)
        names = list(document["tables"])
        real, synthetic = (
            {
                name: table_pair.with_parsed_datetimes(frame, document["tables"][name])
                for name, frame in frames.items()
            }
            for frames in (
                table_pair.frames_by_table(real_data, names, "real_data"),
                table_pair.frames_by_table(synthetic_data, names, "synthetic_data"),
            )
        )
        holdouts = (
            {} if self._holdout is None else table_pair.frames_by_table(self._holdout, names, "holdout")
        )
        self._check_names(document)
        for report_property in self._properties.values():
            report_property.holdouts, report_property.begin = holdouts, begin
        try:
            with warnings.catch_warnings():
                # If no property could be computed, the score is NaN and the details give the reason.
                warnings.filterwarnings("ignore", message="Mean of empty slice")
                super().generate(real, synthetic, document, constraints, verbose)
            if begin is not None:
                begin()
            for name in names:
                self._summarise(
                    name, real[name], synthetic[name], document["tables"][name], holdouts.get(name)
                )
            if verbose:
                score = f"{100 * self.get_score():.2f}%"
                print(f"Overall Score (mean share of what real rows reach): {score}\n")
        except BaseException:
            self._clear_results()
            raise
        finally:
            # A saved report must not contain rows.
            self._original_datetime_columns: dict[str, Any] = {}
            for report_property in self._properties.values():
                report_property.holdouts, report_property.begin = {}, None

    def _clear_results(self) -> None:
        """Drop all results, so that a failed run never leaves partial or stale results."""
        self._release, self._comparison, self._scores, self.is_generated = {}, {}, {}, False

    def _check_names(self, document: dict[str, Any]) -> None:
        from sdv_plausible.evaluation import table_pair

        target = self.options.target
        columns = {c for t in document["tables"].values() for c in table_pair.column_kinds(t, pd.DataFrame())}
        if target is not None and target not in columns:
            raise ValueError(f"target ({target!r}) must be one of the compared columns: {sorted(columns)}")
        structure_names = set(self._structure).union(*self._structure.values())
        known = {name for table in document["tables"].values() for name in table.get("columns", {})}
        if structure_names - known:
            raise ValueError(
                f"structure names {sorted(structure_names - known)}, which are not columns of the metadata: "
                f"{sorted(known)}"
            )

    def _summarise(
        self, name: str, real: pd.DataFrame, synthetic: pd.DataFrame, document: dict[str, Any], holdout: Any
    ) -> None:
        from sdv_plausible.evaluation import table_pair

        kinds, options = table_pair.column_kinds(document, pd.DataFrame()), self.options
        if not kinds or synthetic.empty:
            return
        self._release[name] = page.summary.summarise_release(
            synthetic,
            kinds,
            table_pair.column_formats(document, kinds, synthetic),
            num_bins=options.num_bins,
            max_rows=options.max_rows_distances,
            random_state=options.random_state,
        )
        if real.empty:  # the release's summary above does not depend on real rows
            return
        pair: table_pair.TablePair = table_pair.prepare_pair(real, synthetic, document)
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
        """Return the mean relative score over the properties, in [0, 1].

        A relative score is the score divided by the score of other real rows.
        """
        self._check_report_generated()
        relative_scores = self.get_properties()["Relative"]
        return float(relative_scores.mean())

    def get_properties(self) -> pd.DataFrame:
        """Return the score, the score of other real rows, and the relative score of each property.

        Columns are "Property", "Score", "Real Against Real" and "Relative". With several tables, values are
        means.
        """
        properties = super().get_properties()
        all_scores = [score for scores in self._scores.values() for score in scores]
        by_name = [[score for score in all_scores if score.name == name] for name in properties["Property"]]
        properties["Real Against Real"] = [
            pd.Series([score.ceiling for score in scores]).mean() for scores in by_name
        ]
        properties["Relative"] = [
            pd.Series([score.relative for score in scores]).mean() for scores in by_name
        ]
        return properties

    def __repr__(self) -> str:
        from sdv_plausible.utils import html_templates

        return html_templates.text(_REPR_TITLE, self._score_rows(), self._notes())

    def _repr_html_(self) -> str:
        from sdv_plausible.utils import html_templates

        return html_templates.fragment(
            _REPR_TITLE, head=_REPR_COLUMNS, rows=self._score_rows(), notes=self._notes()
        )

    def _score_rows(self) -> list[tuple[str, ...]]:
        """Return the formatted scores, empty before :meth:`generate`."""
        from sdv_plausible.utils import html_templates

        if not self.is_generated:
            return []
        shares = self.get_properties().itertuples(index=False)
        return [
            (str(name), *(html_templates.percent(float(value)) for value in values))
            for name, *values in shares
        ]

    def _notes(self) -> list[str]:
        from sdv_plausible.utils import html_templates

        if not self.is_generated:
            return ["not generated"]
        return [f"Overall {html_templates.percent(self.get_score())}", self._guarantee.words.first]

    def _print_results(self, verbose: bool) -> None:
        """Print nothing yet: :meth:`generate` computes the overall score after the properties."""

    def get_visualization(self, property_name: str, table_name: str | None = None) -> Any:
        """Return a plotly figure of a property; ``table_name`` is optional if there is one table."""
        self._check_report_generated()
        if table_name is None and len(self.table_names) == 1:
            table_name = self.table_names[0]
        return super().get_visualization(property_name, table_name)

    def to_html(self, path: str | Path, *, publishable: bool = False) -> None:
        """Write the report as one self-contained HTML file without scripts or network requests.

        The file is readable by its owner only, unless it is publishable and a guarantee protects it.

        Parameters
        ----------
        path : str or Path
            The file; an existing one is replaced.
        publishable : bool
            False writes everything, with a warning that the page is private. True writes only what depends on
            real rows through the guarantee: the ledger, charts of the synthetic table alone, and the network
            and ``margins`` if the ledger covers them. It leaves out scores, distances, real histograms and
            row counts, classifiers and seed statistics, which are computed from real rows without noise. The
            types are those of ``metadata``: write them yourself or detect them in the synthetic rows, since a
            single real cell can change a type that is detected in real rows.

        Raises
        ------
        ValueError
            If the report has not been generated.
        """
        self._check_report_generated()
        date = str(self.report_info["generated_date"])
        if publishable:
            structure = self._structure if self._guarantee.covers_structure else {}
            releases = {name: self._release.get(name) for name in self.table_names}
            margins = self._margins if self._guarantee.claimed else ()
            text = page.report_page.public_page(date, self._guarantee, releases, structure, margins)
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
        write_atomically(path, text, owner_only=not (publishable and self._guarantee.claimed))

    def save(self, filepath: str | Path) -> None:
        """Write the report atomically, readable by its owner only; :meth:`load` reads it."""
        write_atomically(
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
        """Exclude the held-out rows: a saved report contains aggregates only."""
        return {**self.__dict__, "_holdout": None}
