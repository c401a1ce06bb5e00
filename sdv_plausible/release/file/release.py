"""The release as one object and one file: everything that leaves, and no code."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from sdv_plausible.mechanism.drawing.released_prefixes import ReleasedSeeds
from sdv_plausible.models import learner_of
from sdv_plausible.models.base import PrefixModel
from sdv_plausible.models.bayesian_network import named_structure
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.release.file import json_documents
from sdv_plausible.release.file.all_sections import read_sections, write_sections
from sdv_plausible.release.file.answers_section import AnswersSection
from sdv_plausible.release.file.chunked_sampling import ChunkedSampler
from sdv_plausible.release.file.ledger_section import RecordedStatement, check_ledger
from sdv_plausible.release.file.release_sampling import check_memory, sample_table
from sdv_plausible.release.file.schema_section import TableSchema
from sdv_plausible.rules.rule_set import FittedRules
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.utils.atomic_files import write_whole
from sdv_plausible.utils.printable import visible

if TYPE_CHECKING:
    from sdv_plausible.release.card.privacy_card import PrivacyCard
    from sdv_plausible.release.multiple_synthesis import About


@dataclass(frozen=True, kw_only=True, eq=False)
class Release(ChunkedSampler):
    """What a fit releases: it makes rows, and is written to one file that runs no code when it is read.

    Get one from :meth:`~sdv_plausible.PlausibleDeniabilitySynthesizer.release` or :meth:`load`. Sampling,
    reading and writing need neither SDV nor torch.

    Attributes
    ----------
    schema : TableSchema
        The table's columns, their meaning, and how they are written.
    domain : Domain
        What each modelled column may hold, with its provenance.
    model : PrefixModel
        The model.
    seeds : ReleasedSeeds
        What was released of the seeds.
    answers : Answers
        Every noisy answer that the rows gave, with its noise.
    ledger : PrivacyLedger
        What it cost.
    settings : mapping
        Parameters of the synthesizer.
    versions : mapping of str to str
        Versions of the packages that made it.
    rules : FittedRules
        Rules that every row keeps, and the columns that follow from others by them.
    written : Statement, optional
        What the file that it was read from says of its ledger: written again as it stands, and shown nowhere.

    Raises
    ------
    ValueError
        If something in it is paid for by no entry of the ledger, or contradicts its claim.

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

    # --- what it is for ---------------------------------------------------------------------------

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
        """Draw rows, as many and as often as you like: the ledger's total covers all of them.

        Parameters
        ----------
        num_rows : int, optional
            Rows wanted, >= 0; by default the noisy number of rows among the answers.
        given : mapping, optional
            Values that every row must have: ``{column: value}``.
        random_state : int, optional
            The same rows again for the same number; by default fresh ones.
        uniform : sequence of str
            Columns whose values and bins are all equally likely, whatever the others hold.
        recipient : str, optional
            Who gets them: the same name gets the same rows for the same arguments.
        secret : bytes, optional
            The holder's, from :func:`~sdv_plausible.privacy.noise.stable_seeds.new_secret`: never in a
            release.

        Raises
        ------
        ValueError
            If no row can have the given values, the rows would not fit in memory, or the arguments do not go
            together.
        """
        if num_rows is None:
            num_rows = self.answers.number_of_rows()
        check.whole("num_rows", num_rows, 0, "try 1000")
        self.check_memory(num_rows)
        coins = KeyedRNG.from_os_entropy() if random_state is None else KeyedRNG.from_seed(random_state)
        if recipient is not None or secret is not None:
            if random_state is not None:
                raise ValueError(
                    f"random_state ({random_state!r}) must be None for a recipient: the secret decides"
                )
            from sdv_plausible.privacy.noise.stable_seeds import recipient_coins  # for named recipients

            coins = recipient_coins(secret, recipient, self.digest)
        if not isinstance(given, (Mapping, type(None))):
            raise check.Refused("given", given, "must be a mapping", "such as {'sex': 'f'}")
        known, own = dict(given or {}), coins.spawn("sample")
        return sample_table(int(num_rows), known, coins=own, uniform=uniform, **self._rows_from())

    def drawn_by_model(self, num_rows: int, coins: KeyedRNG) -> pd.DataFrame:
        """The model's columns of rows, before rules are applied: for what is made of several releases."""
        codes = self.seeds.sample(num_rows, self.model, coins)
        return Codec(self.domain).decode(codes, coins.spawn("inside the bins"))

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
            As :meth:`~sdv_plausible.PlausibleDeniabilitySynthesizer.margins`.
        """
        from sdv_plausible.release.intervals.margins import margins

        rows = self.ledger.neighbours.rows
        return margins(self.answers, self.domain, columns, level, rows_per_unit=rows)

    def columns(self) -> pd.DataFrame:
        """What became of the columns' values, from the noisy answers alone: at no further cost.

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
        """Draw tables from models that the answers could as well have led to: at no further cost.

        Parameters
        ----------
        num_tables, num_rows, about
            As in :meth:`~sdv_plausible.PlausibleDeniabilitySynthesizer.sample_multiple`.
        random_state : int, optional
            The same tables again; by default fresh ones.
        """
        coins = KeyedRNG.from_os_entropy() if random_state is None else KeyedRNG.from_seed(random_state)
        learner = learner_of(self.settings)
        from sdv_plausible.release.multiple_synthesis import INDEPENDENT_ROWS, redrawn_models

        models = redrawn_models(
            learner, self.model, self.answers, self.domain, num_tables, about, coins.spawn("models"),
            rows_per_unit=self.ledger.neighbours.rows, is_public="public_rows" in self.settings,
        )  # fmt: skip
        rows = self.answers.number_of_rows() if num_rows is None else num_rows
        check.whole("num_rows", rows, 0, "try 1000")
        self.check_memory(int(rows) * num_tables)
        known = self._rows_from() | {"seeds": INDEPENDENT_ROWS}
        return [
            sample_table(int(rows), {}, coins=coins.spawn("table", i), **(known | {"model": model}))
            for i, model in enumerate(models)
        ]

    def check_memory(self, num_rows: int) -> None:
        """Refuse so many rows if they would not fit in memory at once."""
        modelled = len(self.rules.whole(self.domain))
        check_memory(num_rows, modelled, len(self.schema.columns) - modelled)

    def _rows_from(self) -> dict[str, Any]:
        """What rows are made of, but for the call."""
        names = ("domain", "model", "seeds", "schema", "rules")
        return {name: getattr(self, name) for name in names} | {"locales": self.settings["locales"]}

    def structure(self) -> dict[str, list[str]]:
        """Parents of every modelled column: ``{child: [parents]}``, in the resampling order."""
        return named_structure(self.model, self.domain.names)

    def card(self, *, budget: Any = None, audit: Any = None, domain: Any = None, **known: str) -> PrivacyCard:
        """Make the page on this release that a data-protection officer files: of what the release holds.

        Parameters
        ----------
        budget : Budget, optional
            What the fit drew from: its sentence covers all releases of these people.
        audit : AuditResult or mapping, optional
            An audit of a public or simulated table; others are refused.
        domain : path or mapping, optional
            The domain file that was declared: which public source each column's declaration cites. A
            declaration that does not lead to the column as it was released cites none, with a warning.
        **known
            What only a person knows: ``name``, ``holder``, ``purpose``, ``declared_by``,
            ``reviewed_by``, ``date``, ``registry`` (where the registry entry is). What is not given is a
            blank to be filled in.

        Returns
        -------
        PrivacyCard
            It can be saved as HTML, Markdown or JSON.
        """
        from sdv_plausible.release.card.card_contents import card_of

        return card_of(self, budget=budget, audit=audit, domain=domain, known=known)

    # --- as a file --------------------------------------------------------------------------------

    def save(self, path: str | Path, *, readable: bool = False) -> str:
        """Write the release, whole or not at all.

        Parameters
        ----------
        path : str or Path
            The file; one that exists is replaced.
        readable : bool
            With numbers and line breaks for people. The content, and its digest, are the same.

        Returns
        -------
        str
            :attr:`digest`, for whoever gets the file.
        """
        content = self.to_bytes(readable=readable)
        write_whole(path, content)
        return self.digest

    @classmethod
    def load(
        cls, path: str | Path, expect_sha256: str | None = None, *, max_bytes: int = json_documents.MAX_BYTES
    ) -> Release:
        """Read a release. Nothing in the file is run, whoever wrote it.

        Parameters
        ----------
        path : str or Path
            The file.
        expect_sha256 : str, optional
            The digest that the file must have: without it nobody knows whether the file was changed on
            purpose.
        max_bytes : int
            A larger file is refused.

        Raises
        ------
        ValueError
            If the file is damaged, is none, is too large, or is another one.
        """
        check.whole("max_bytes", max_bytes, 1, f"try {json_documents.MAX_BYTES}")
        return json_documents.loaded(
            path,
            lambda data: cls.from_bytes(data, max_bytes=max_bytes),
            "a release file",
            expect_sha256,
            max_bytes,
        )

    def to_bytes(self, *, readable: bool = False) -> bytes:
        """Content of the file; equal releases give equal bytes.

        Raises
        ------
        ValueError
            If something has no form in a file, such as a model whose type is not registered.
        """
        return json_documents.write(self._document(), readable=readable)

    def _document(self) -> dict[str, Any]:
        return write_sections(**{part.name: getattr(self, part.name) for part in fields(self)})

    @classmethod
    def from_bytes(cls, data: bytes, *, max_bytes: int = json_documents.MAX_BYTES) -> Release:
        """Read what :meth:`to_bytes` wrote.

        Raises
        ------
        ValueError
            If it is not the content of a release file.
        """
        return cls(**read_sections(data, max_bytes))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the file, as ``sha256sum`` prints it of one that was not saved as ``readable``."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.digest)

    def __str__(self) -> str:
        return (
            f"Release of table {self.schema.table!r}: {len(self.schema.columns)} columns, sha256 "
            f"{self.digest}\n"
            f"{visible(self.ledger.words.first, keep='')}"
        )

    __repr__ = __str__
