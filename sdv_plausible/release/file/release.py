"""The release as one object and one file, without code in it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from sdv_plausible.mechanism.drawing.released_prefixes import ReleasedSeeds
from sdv_plausible.models import learner_from_config
from sdv_plausible.models.base import PrefixModel
from sdv_plausible.models.bayesian_network import structure_by_name
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.release.file import json_documents
from sdv_plausible.release.file.all_sections import read_sections, write_sections
from sdv_plausible.release.file.answers_section import AnswersSection
from sdv_plausible.release.file.ledger_section import RecordedStatement, check_ledger
from sdv_plausible.release.file.release_sampling import ChunkedSampler, check_memory, sample_table
from sdv_plausible.release.file.schema_section import TableSchema
from sdv_plausible.rules.rule_set import FittedRules
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.utils.atomic_files import write_atomically
from sdv_plausible.utils.html_templates import fragment
from sdv_plausible.utils.text_output import escape_controls

if TYPE_CHECKING:
    from sdv_plausible.release.card.privacy_card import PrivacyCard
    from sdv_plausible.release.multiple_synthesis import About

PLOTTED_ROWS = 100_000  # rows of the model in the figure of a pair that was not measured


@dataclass(frozen=True, kw_only=True, eq=False)
class Release(ChunkedSampler):
    """The result of a fit: it samples rows, and is saved to one file that is read without running code.

    Get one from :meth:`~sdv_plausible.PlausibleDeniabilitySynthesizer.release` or :meth:`load`. Sampling,
    reading and writing need neither SDV nor torch.

    Attributes
    ----------
    schema : TableSchema
        The table's columns, their sdtypes and dtypes.
    domain : Domain
        Values of each modelled column, with their provenance.
    model : PrefixModel
        The fitted model.
    seeds : ReleasedSeeds
        The released seeds.
    answers : AnswersSection
        All noisy answers about the rows, with their noise.
    ledger : PrivacyLedger
        The privacy cost.
    settings : mapping
        Parameters of the synthesizer.
    versions : mapping of str to str
        Versions of the packages that made the release.
    rules : FittedRules
        Rules that every row satisfies, and the columns that they derive.
    written : RecordedStatement, optional
        The ledger's statement in the file that the release was read from. It is saved again unchanged and
        never shown.

    Raises
    ------
    ValueError
        If no ledger entry pays for some part, or a part contradicts the privacy claim.

    Examples
    --------
    >>> release = synth.release()                                   # doctest: +SKIP
    >>> digest = release.save("census.release")                     # doctest: +SKIP
    >>> Release.load("census.release", digest).sample(1000)         # doctest: +SKIP
    """

    schema: TableSchema
    domain: Domain
    model: PrefixModel
    seeds: ReleasedSeeds
    answers: AnswersSection
    ledger: PrivacyLedger
    settings: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    rules: FittedRules = field(default_factory=FittedRules)
    written: RecordedStatement | None = None

    def __post_init__(self) -> None:
        check_ledger(
            self.ledger,
            self.settings,
            self.domain,
            self.model,
            self.seeds,
            self.answers,
            self.rules.made.values(),
        )

    # --- sampling and reports ---------------------------------------------------------------------

    def sample(
        self,
        num_rows: int | None = None,
        *,
        given: Mapping[str, Any] | None = None,
        random_state: int | None = None,
        uniform: Sequence[str] = (),
        recipient: str | None = None,
        secret: bytes | None = None,
    ) -> pd.DataFrame:
        """Draw synthetic rows. The ledger's total covers any number of rows and calls.

        Parameters
        ----------
        num_rows : int, optional
            Number of rows, >= 0; by default the noisy number of rows among the answers.
        given : mapping, optional
            Values that every row must have: ``{column: value}``.
        random_state : int, optional
            Seed that repeats the rows for the same ``num_rows``; by default fresh rows.
        uniform : sequence of str
            Columns whose values and bins are uniformly distributed, independent of the other columns.
        recipient : str, optional
            Name of the recipient: the same name gets the same rows for the same arguments.
        secret : bytes, optional
            The data owner's secret, from :func:`~sdv_plausible.privacy.noise.keyed_rng.new_secret`. It is
            never part of a release.

        Returns
        -------
        DataFrame
            ``num_rows`` rows with the columns and dtypes of the schema.

        Raises
        ------
        ValueError
            If no row can have the given values, the rows would not fit in memory, or the arguments exclude
            each other.
        """
        if num_rows is None:
            num_rows = self.answers.number_of_rows()
        check.whole("num_rows", num_rows, 0, "try 1000")
        self.check_memory(num_rows)
        rng = KeyedRNG.from_os_entropy() if random_state is None else KeyedRNG.from_seed(random_state)
        if recipient is not None or secret is not None:
            if random_state is not None:
                raise ValueError(
                    f"random_state ({random_state!r}) must be None if a recipient is given: the secret "
                    "determines the rows"
                )
            from sdv_plausible.privacy.noise.keyed_rng import recipient_rng  # lazy

            rng = recipient_rng(secret, recipient, self.digest)
        if not isinstance(given, (Mapping, type(None))):
            raise check.Refused("given", given, "must be a mapping", "such as {'sex': 'f'}")
        given_values, stream = dict(given or {}), rng.spawn("sample")
        return sample_table(
            int(num_rows), given_values, rng=stream, uniform=uniform, **self._sampling_arguments()
        )

    def sample_modelled(self, num_rows: int, rng: KeyedRNG) -> pd.DataFrame:
        """Modelled columns of rows, before rules are applied; used for several tables."""
        codes = self.seeds.sample(num_rows, self.model, rng)
        return Codec(self.domain).decode(codes, rng.spawn("inside the bins"))

    def margins(self, columns: str | Sequence[str], level: float = 0.95) -> pd.DataFrame:
        """Return counts with confidence intervals, from the noisy answers, at no further privacy cost.

        Parameters
        ----------
        columns : str or sequence of str
            One or more modelled columns; ``()`` gives the number of rows.
        level : float
            Confidence level of each interval by itself. k intervals hold together at level
            ``1 - (1 - level) * k``.

        Returns
        -------
        DataFrame
            As :meth:`~sdv_plausible.PlausibleDeniabilitySynthesizer.margins`.
        """
        from sdv_plausible.release.intervals.margins import margins

        rows = self.ledger.neighbours.rows
        return margins(self.answers, self.domain, columns, level, rows_per_unit=rows)

    def plot(self, columns: str | Sequence[str]) -> Any:
        """Draw a column, or a pair of columns, from the noisy answers, at no further privacy cost.

        The figure shows no row, and may be published as the release may.

        Parameters
        ----------
        columns : str or sequence of str
            One modelled column: bars with 95 % confidence intervals. Two: a heat map. If the fit did not
            measure the pair, its counts are those of the model's rows, as the title states.

        Returns
        -------
        plotly.graph_objects.Figure
            The figure. ``figure.write_html(path)`` saves it.

        Raises
        ------
        ValueError
            If there are other than one or two modelled columns, or no noisy counts.
        """
        from sdv_plausible.evaluation.report.plots import plot_counts

        names = [columns] if isinstance(columns, str) else list(columns)
        if len(names) not in (1, 2):
            raise check.Refused("columns", len(names), "must be one or two", "such as ['age', 'sex']")
        counts, source = self.margins(names), "noisy counts"
        if counts["basis"].iloc[0] != "measured":
            from sdv_plausible.release.intervals.margins import simulated_counts

            source, rows = "rows of the model, which did not measure this pair", self.answers.number_of_rows()
            codes = self.seeds.sample(
                min(rows, PLOTTED_ROWS), self.model, KeyedRNG.from_os_entropy().spawn("plot")
            )
            counts = simulated_counts(codes, self.domain, names) * (rows / max(1, len(codes)))
        return plot_counts(counts, f"{self.schema.table}: {source}")

    def columns(self) -> pd.DataFrame:
        """Return how well the values of each column were learned, at no further privacy cost.

        Returns
        -------
        DataFrame
            As :meth:`~sdv_plausible.PlausibleDeniabilitySynthesizer.columns`.
        """
        from sdv_plausible.table.learned.lost_mass import columns_frame

        return columns_frame(self.domain, self.answers, self.settings.get("voted_others", {}))

    def sample_multiple(
        self,
        num_tables: int,
        num_rows: int | None = None,
        *,
        about: About = "population",
        random_state: int | None = None,
    ) -> list[pd.DataFrame]:
        """Draw several tables that vary as the noise does, at no further privacy cost.

        Each table comes from a model that is fitted to the answers with fresh noise;
        :func:`~sdv_plausible.combine` combines estimates from them.

        Parameters
        ----------
        num_tables, num_rows, about
            As in :meth:`~sdv_plausible.PlausibleDeniabilitySynthesizer.sample_multiple`.
        random_state : int, optional
            Seed that repeats the tables; by default fresh tables.

        Returns
        -------
        list of DataFrame
            ``num_tables`` tables.
        """
        rng = KeyedRNG.from_os_entropy() if random_state is None else KeyedRNG.from_seed(random_state)
        learner = learner_from_config(self.settings)
        from sdv_plausible.release.multiple_synthesis import INDEPENDENT_ROWS, refitted_models

        models = refitted_models(
            learner, self.model, self.answers, self.domain, num_tables, about, rng.spawn("models"),
            rows_per_unit=self.ledger.neighbours.rows, is_public="public_rows" in self.settings,
        )  # fmt: skip
        rows = self.answers.number_of_rows() if num_rows is None else num_rows
        check.whole("num_rows", rows, 0, "try 1000")
        self.check_memory(int(rows) * num_tables)
        arguments = self._sampling_arguments() | {"seeds": INDEPENDENT_ROWS}
        return [
            sample_table(int(rows), {}, rng=rng.spawn("table", i), **(arguments | {"model": model}))
            for i, model in enumerate(models)
        ]

    def check_memory(self, num_rows: int) -> None:
        """Raise an error if ``num_rows`` rows would not fit in memory at once."""
        modelled = len(self.rules.whole(self.domain))
        check_memory(num_rows, modelled, len(self.schema.columns) - modelled)

    def _sampling_arguments(self) -> dict[str, Any]:
        """Arguments of ``sample_table`` that do not depend on the call."""
        names = ("domain", "model", "seeds", "schema", "rules")
        return {name: getattr(self, name) for name in names} | {"locales": self.settings["locales"]}

    def structure(self) -> dict[str, list[str]]:
        """Return the parents of every modelled column, ``{child: [parents]}``, in resampling order."""
        return structure_by_name(self.model, self.domain.names)

    def card(self, *, budget: Any = None, audit: Any = None, domain: Any = None, **known: str) -> PrivacyCard:
        """Make the privacy card: one page about this release, for a data-protection officer's files.

        Parameters
        ----------
        budget : Budget, optional
            The budget that the fit drew from; its sentence covers all releases about these people.
        audit : AuditResult or mapping, optional
            An audit of a public or simulated table; other audits are rejected.
        domain : path or mapping, optional
            The declared domain file, to cite the public source of each declaration. A declaration that
            differs from the released column is not cited, with a warning.
        **known
            Facts that only the data owner knows: ``name``, ``holder``, ``purpose``, ``declared_by``,
            ``reviewed_by``, ``date``, ``registry`` (where the registry entry is), ``controller``,
            ``lawful_basis``, ``impact_assessment``, ``recipients``, ``retention``, ``environment``,
            ``review_date``. They are on the card only, never in the release file. Missing facts are shown as
            not given.

        Returns
        -------
        PrivacyCard
            The card, which saves as HTML, Markdown or JSON.
        """
        from sdv_plausible.release.card.card_contents import card_of

        return card_of(self, budget=budget, audit=audit, domain=domain, known=known)

    # --- file -------------------------------------------------------------------------------------

    def save(self, path: str | Path, *, readable: bool = False) -> str:
        """Write the release to a file, atomically.

        Parameters
        ----------
        path : str or Path
            Path of the file; an existing file is replaced.
        readable : bool
            Whether to write numbers and line breaks for people. Content and digest are the same.

        Returns
        -------
        str
            The :attr:`digest`, for the recipients of the file.
        """
        content = self.to_bytes(readable=readable)
        write_atomically(path, content)
        return self.digest

    @classmethod
    def load(
        cls, path: str | Path, expect_sha256: str | None = None, *, max_bytes: int = json_documents.MAX_BYTES
    ) -> Release:
        """Read a release from a file. No code in the file is run.

        Parameters
        ----------
        path : str or Path
            Path of the file.
        expect_sha256 : str, optional
            The digest that the file must have. Without it, deliberate changes go unnoticed.
        max_bytes : int
            Largest accepted file size, in bytes.

        Returns
        -------
        Release
            The release.

        Raises
        ------
        ValueError
            If the file is damaged, too large, not a release file, or has another digest.
        """
        check.whole("max_bytes", max_bytes, 1, f"try {json_documents.MAX_BYTES}")
        return json_documents.load_file(
            path,
            lambda data: cls.from_bytes(data, max_bytes=max_bytes),
            "a release file",
            expect_sha256,
            max_bytes,
        )

    def to_bytes(self, *, readable: bool = False) -> bytes:
        """Return the content of the file; equal releases have equal bytes.

        Raises
        ------
        ValueError
            If a part has no form in a file, such as a model whose type is not registered.
        """
        return json_documents.write(self._document(), readable=readable)

    def _document(self) -> dict[str, Any]:
        return write_sections(**{part.name: getattr(self, part.name) for part in fields(self)})

    @classmethod
    def from_bytes(cls, data: bytes, *, max_bytes: int = json_documents.MAX_BYTES) -> Release:
        """Read the bytes that :meth:`to_bytes` returns.

        Raises
        ------
        ValueError
            If they are not the content of a release file.
        """
        return cls(**read_sections(data, max_bytes))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the file, as ``sha256sum`` prints it for a file saved without ``readable``."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def _title(self) -> str:
        columns = len(self.schema.columns)
        return f"Release of table {self.schema.table!r}: {columns} columns, sha256 {self.digest}"

    def __str__(self) -> str:
        return f"{self._title}\n{escape_controls(self.ledger.words.first, keep='')}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return fragment(self._title) + str(self.ledger.to_html())
