"""What a fitted synthesizer tells of its fit, and how it is handed over: ledger, domain, release, files."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd
from sdv.errors import SamplingError

from sdv_plausible.fitting.fit import FitResult
from sdv_plausible.fitting.release_budget import Budget
from sdv_plausible.fitting.reused_domain import with_charges, with_looks
from sdv_plausible.models.bayesian_network import named_structure
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.release.file.release import Release
from sdv_plausible.sdv.placeholder_table import write_as_domain
from sdv_plausible.sdv.release_conversion import released
from sdv_plausible.sdv.sampling import SamplingSynthesizer
from sdv_plausible.sdv.sampling_requests import parents
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.declared.domain_file import DomainFile
from sdv_plausible.utils.atomic_files import write_whole


class FittedSynthesizer(SamplingSynthesizer):
    """Holds what a fit made: says what it cost and what was learned, and is written to files.

    It needs the ledger beside what rows are drawn from, and looks at no row.
    """

    _ledger: PrivacyLedger | None
    _taken: tuple[pd.Series[Any], FitResult] | None = None  # only while a release is put in
    _looked = DomainFile(columns={})  # what was compared with rows, and not what came out: saved, too
    _charge: Mapping[str, str] | None = None  # in the budget, that paid for the fit
    _said: Mapping[str, Any] | None = None  # settings of a release that this object's own ones do not say
    _voted_others: Mapping[str, float] = MappingProxyType({})  # shares that may be of another kind, by a vote
    budget: Budget | None = None

    @property
    def drawn(self) -> dict[str, float] | None:
        """What the fit drew from its budget, in the units of the filter; None where it drew from none."""
        return None if self.budget is None or self._charge is None else self.budget.cost_of(**self._charge)

    def privacy_ledger(self) -> PrivacyLedger:
        """Return the ledger of the fit: total first, then what it is made of."""
        if self._ledger is None:
            raise SamplingError("there is no ledger yet: fit first, or use plan() to see the cost beforehand")
        return deepcopy(self._ledger)

    def margins(self, columns: str | Sequence[str], level: float = 0.95) -> pd.DataFrame:
        """Counts with confidence intervals, from the noisy answers: at no further cost.

        Parameters
        ----------
        columns : str or sequence of str
            One modelled column or several; ``()`` gives the number of rows.
        level : float
            Of each interval on its own; k intervals hold together at level ``1 - (1 - level) * k``.

        Returns
        -------
        DataFrame
            One row per cell, labelled by the columns' values, or by groups of values where groups were
            counted. ``estimate``, ``lower`` and ``upper`` are of the count of the rows used (with ``person``,
            so many of each); ``proportion`` and its limits are of the population that they are drawn from.
            Limits are missing where a person may have several rows, which are not independent. ``basis`` is
            "measured"; "bounds" for columns that were not measured together, whose cells have Frechet bounds
            and no estimate; or "not identified".

        Raises
        ------
        ValueError
            If a column is not modelled, or there are no noisy counts.
        """
        from sdv_plausible.release.intervals.margins import margins

        answers = self._fitted_sampler().answers
        assert self._ledger is not None  # whose persons the answers are of; settings are of the next fit
        rows = self._ledger.neighbours.rows
        return margins(answers, self._codec.domain, columns, level, rows_per_unit=rows)

    def columns(self) -> pd.DataFrame:
        """What became of the columns' values, from the noisy answers alone: at no further cost.

        Returns
        -------
        DataFrame
            A row per modelled column: ``kind``, ``codes``, where its ``domain`` is from, and, where it was
            learned, estimated shares of the rows. ``exact``: values that stand alone. ``merged``: values kept
            as ranges.
            ``replaced``: values that the domain does not hold, for which more common ones are drawn;
            ``uncertainty`` is the standard deviation of this share. ``missing``: cells without a value, or
            with one that cannot be read. ``other_kind``, of columns whose type was voted for: up to what
            share of the cells may be of another kind, and count as missing.
        """
        from sdv_plausible.table.learned.lost_mass import columns_frame

        answers = self._fitted_sampler().answers
        others = (self._said or {}).get("voted_others", self._voted_others)
        return columns_frame(self._codec.domain, answers, others)

    def get_domain(self) -> Domain:
        """Return the domain of the fit: what each modelled column may hold, and where that is from.

        It can be saved (``Domain.save``), edited and given to another synthesizer. It holds what learning it
        cost (``Domain.learned``): the other's fit charges that again, and draws it once from one budget. And
        it holds which columns were compared with rows (``Domain.looked``), by this object or before: edited
        now, these make no claim. A release file has no such record: the domain of ``from_release`` tells
        of no look before it, so edit the domain file instead.
        """
        self._fitted_sampler()
        assert self._ledger is not None
        fitted = self._codec.domain
        others = {n: words for n, words in self._column_specs().items() if n not in fitted.names}
        domain = with_charges(fitted, self._ledger, self._charge, others)
        return with_looks(domain, self._looked, self._fitted_rules.rule_set, self._known.rules.digests)

    def get_structure(self) -> dict[str, list[str]]:
        """Parents of every modelled column: ``{child: [parents]}``, in the resampling order."""
        return named_structure(self._fitted_sampler().model, self._codec.domain.names)

    def plot_structure(self) -> Any:
        """Draw the network as a plotly figure."""
        from sdv_plausible.evaluation.report.plots import plot_structure

        return plot_structure(self.get_structure())

    def diagnose(self, num_candidates: int = 10_000) -> pd.DataFrame:
        """Show the holder of the data how large groups of plausible seeds are. NOT private: do not publish.

        Returns
        -------
        DataFrame
            One row per number of kept attributes: quartiles of the group sizes of candidates, share of at
            least k.
        """
        from sdv_plausible.mechanism.drawing.seed_diagnostics import diagnose

        return diagnose(self._fitted_sampler(), num_candidates)

    def seed_diagnostics(self, num_candidates: int = 10_000) -> dict[str, Any]:
        """Collect what ``PlausibleDeniabilityReport(diagnostics=...)`` shows of the seeds. NOT private.

        Do not publish.

        Returns
        -------
        dict
            ``"plausible_seeds"``: of candidates at this synthesizer's omega; ``"pass_rates"``: ``{k: {omega:
            share}}``.
        """
        from sdv_plausible.mechanism.drawing.seed_diagnostics import seed_diagnostics

        return seed_diagnostics(self._fitted_sampler(), num_candidates)

    # --- as a file --------------------------------------------------------------------------------

    def release(self, *, allow_no_claim: bool = False) -> Release:
        """Return what is released, to be saved as a file that runs no code and samples without SDV.

        Parameters
        ----------
        allow_no_claim : bool
            Also where the ledger makes no privacy claim: such a file may hold single people's values.

        Raises
        ------
        ValueError
            If the fit keeps records, makes no claim, or has SDV constraints or transformers of your own.
        """
        return released(self, allow_no_claim=allow_no_claim)

    def save(self, filepath: str | Path) -> None:
        """Write the synthesizer, whole or not at all; one that holds rows for its owner alone.

        Warns
        -----
        UserWarning
            If the object holds seed records: the file is then outside every guarantee.
        """
        keeps_rows = self._sampler is not None and self._sampler.holds_records
        if keeps_rows:
            warnings.warn(
                f"the saved file holds seed records of your table (test={self._known.settings.test.name!r}), "
                "and can be read by its owner alone: keep it as safe as the table itself. test='release' "
                "saves no record",
                stacklevel=2,
            )
        held = self._alike()  # without what never leaves
        held._process = None  # whoever reads the file
        write_whole(
            filepath, lambda path: super(FittedSynthesizer, held).save(str(path)), owner_only=keeps_rows
        )

    @classmethod
    def load(cls, filepath: str | Path) -> Any:
        """Read what :meth:`save` wrote. Only open files you trust: they are pickles.

        Raises
        ------
        ValueError
            If the file is damaged or holds something else.
        """
        from sdv.utils import load_synthesizer

        if not isinstance(filepath, (str, os.PathLike)):
            raise check.Refused("filepath", type(filepath), "must be the path of a file that save() wrote")
        try:
            loaded = load_synthesizer(str(filepath))
        except OSError:
            raise
        except _DAMAGED as error:
            if isinstance(error, (ImportError, AttributeError)) and "sdv_plausible" in str(error):
                raise ValueError(
                    f"{str(filepath)!r} was saved by another version of sdv-plausible, whose files this one "
                    "does not read: sample from it with that version, or fit again"
                ) from error
            if isinstance(error, ModuleNotFoundError):
                raise ValueError(
                    f"{str(filepath)!r} needs a module that is not installed: {error}"
                ) from error
            raise ValueError(
                f"{str(filepath)!r} is not a saved synthesizer, or is damaged: {error}"
            ) from error
        if not isinstance(loaded, cls):
            raise ValueError(f"{str(filepath)!r} holds a {type(loaded).__name__}, not a {cls.__name__}")
        return loaded

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over what comes from a file or a worker; what a parent hands on repeats its rows."""
        if "test" not in state:
            raise AttributeError("saved by sdv_plausible 0.1, whose options were others")
        self.__dict__.update(state)
        if self._process not in parents():
            self._process = os.getpid()

    # --- what a fit made --------------------------------------------------------------------------

    def _hold(self, dtypes: pd.Series[Any], found: FitResult) -> None:
        """Keep what a fit made."""
        self._codec, self._fitted_rules = Codec(found.domain), found.rules
        self._sampler, self._ledger, self._charge = found.sampler, found.ledger, found.charge
        self._public_digest, self._voted_others = found.public, found.others
        write_as_domain(self._data_processor, found.rules.whole(found.domain), dtypes)
        self._model = found.sampler  # SDV asks whether there is a model
        self._process = os.getpid()
        self._charged_calls: dict[tuple[Any, ...], int] = {}

    def _take(self, dtypes: pd.Series[Any], found: FitResult) -> None:
        """Hold what another fit made, of which there is no row here.

        ``dtypes`` are the output's, by label.
        """
        self._taken = dtypes.rename(str), found
        try:
            self._fit_to_schema(dtypes)
        finally:
            del self._taken

    def _forget_fit(self) -> None:
        super()._forget_fit()
        self._sampler = self._ledger = None
        self.__dict__.pop("_said", None)


_DAMAGED = (
    pickle.UnpicklingError,
    EOFError,
    AttributeError,
    ImportError,
    IndexError,
    KeyError,
    TypeError,
    ValueError,
)
