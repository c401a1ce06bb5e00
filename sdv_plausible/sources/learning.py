"""A fit that knows everything but the rows; then the rows, in parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sdv_plausible.declaring.private import Earlier, earlier_losses
from sdv_plausible.models.base import check_number_of_columns
from sdv_plausible.models.paper.structure import check_structure
from sdv_plausible.privacy.ledger import LedgerEntry, PrivacyLedger
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.questions.transcript import Transcript
from sdv_plausible.release.fitting import fit_release
from sdv_plausible.release.plan import plan
from sdv_plausible.release.sampler import PrefixSampler
from sdv_plausible.release.settings import Settings
from sdv_plausible.release_file.schema import Column, TableSchema
from sdv_plausible.rules.checking import rule_entries
from sdv_plausible.rules.reading import rules_with_declarations
from sdv_plausible.rules.rule_set import FittedRules, RuleSet
from sdv_plausible.rules.zeros import possible_pairs
from sdv_plausible.sources.bounded import bounded
from sdv_plausible.sources.coded import Coder, SourceCounts
from sdv_plausible.sources.kept import keep_codes
from sdv_plausible.sources.raw_columns import SourceColumns
from sdv_plausible.sources.source import LocalSource, Source
from sdv_plausible.table.building import build_domain, domain_entries
from sdv_plausible.table.column_types import ColumnType
from sdv_plausible.table.dates import check_dates
from sdv_plausible.table.declarations import Declarations, Specs, read_declarations
from sdv_plausible.table.domain import Domain
from sdv_plausible.table.output_types import invented_type, output_type
from sdv_plausible.table.private_domain import DomainPlan
from sdv_plausible.whole_files import part_folder


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a fit found."""

    domain: Domain
    rules: FittedRules
    sampler: PrefixSampler


@dataclass(frozen=True, kw_only=True, eq=False)
class SourceFit:
    """A fit that is told everything but the rows.

    Parameters
    ----------
    types : mapping of str to ColumnType
        Columns of the table.
    declared : Declarations
        Value sets of what the model sees.
    rules : RuleSet
        What holds in every row.
    specs : mapping
        Columns that the model sees.
    settings, learner, max_bins
        As for the synthesizer.
    side : tuple of LedgerEntry
        What stands beside the mechanism.
    earlier : Earlier
        What the domain cost when it was learned.
    structure : str, mapping or None
        As for the synthesizer: its names are checked before a row is looked at.
    """

    types: Mapping[str, ColumnType]
    declared: Declarations
    rules: RuleSet
    specs: Specs
    settings: Settings
    learner: Any
    max_bins: int
    side: tuple[LedgerEntry, ...]
    earlier: Earlier
    structure: Any = None

    @classmethod
    def read(
        cls,
        types: Mapping[str, ColumnType],
        domain: Any,
        rules: Any,
        max_bins: int,
        *,
        settings: Settings,
        learner: Any,
        side: Sequence[LedgerEntry],
        structure: Any = None,
    ) -> SourceFit:
        """Read rules and declarations.

        Raises
        ------
        ValueError
            If they cannot be, or no column is modelled.
        """
        if isinstance(domain, str) and domain == "metadata":
            raise ValueError(
                'domain ("metadata") must be the declarations themselves: give the mapping as domain'
            )
        columns = {name: column.words for name, column in types.items()}
        given, seen, rule_set = rules_with_declarations(
            rules, domain, columns, max_bins, split_dates=not isinstance(structure, Mapping)
        )
        modelled = {name: words for name, words in columns.items() if types[name].is_modelled}
        if not modelled:
            raise ValueError(
                "metadata and domain declare no column that is modelled: try {'age': {'sdtype': 'numerical'}}"
            )
        specs = rule_set.model_columns(modelled)
        check_number_of_columns(learner, len(specs))
        return cls(
            types=types,
            declared=read_declarations(given, "private", max_bins, seen),
            rules=rule_set,
            specs=specs,
            settings=settings,
            learner=learner,
            max_bins=max_bins,
            side=(*rule_entries(rule_set), *side),
            earlier=earlier_losses(domain, settings.neighbours),
            structure=structure,
        )

    def planned(self) -> PrivacyLedger:
        """Return the ledger of this fit, before any row is looked at."""
        private = self._private()
        domain = self.declared.planned(self.specs, private.columns)
        if isinstance(self.structure, Mapping):
            check_structure(self.structure, domain)
        extra = (
            *self.earlier.entries,
            *private.entries(),
            *domain_entries(domain, self.declared),
            *self.side,
        )
        assumed = self.declared.assumed(self.specs)
        return plan(self.settings, self.learner, domain, extra=extra, assumed=assumed).ledger

    def check_types(self, table: Source) -> None:
        """Raise ValueError if a column's type in the source does not go with how its dates are declared."""
        dates = [name for name, kind in self.types.items() if kind.sdtype == "datetime"]
        check_dates(table.empty(dates), {name: self.types[name].datetime_format for name in dates})

    def run(self, table: Source, ledger: PrivacyLedger, coins: Coins, scratch: Any = None) -> Found:
        """Choose each person's rows; learn undeclared value sets, then the model; put the test in front."""
        with nullcontext() if scratch is None else part_folder(Path(scratch)) as folder:
            return self._run(table, ledger, coins, folder)

    def _run(self, table: Source, ledger: PrivacyLedger, coins: Coins, folder: Path | None) -> Found:
        names = [name for name, column in self.types.items() if column.is_modelled]
        if self.settings.neighbours.person is not None:
            assert isinstance(table, LocalSource)  # check_person refused others
            assert folder is not None
            table = bounded(table, self.settings.neighbours, names, coins.spawn("persons"), folder)
        empty, transcript = table.empty(names), Transcript()
        folded = (self.rules.fold(empty) if self.rules else empty)[list(self.specs)]
        ledger.charge(*self.earlier.entries)
        domain = build_domain(
            folded, self.declared, self.specs, self.max_bins, self._private(), ledger, coins.spawn("domain"),
            transcript, SourceColumns(table, self.rules, names),
        )  # fmt: skip
        rules = self.rules.fitted(domain, empty)
        domain = replace(domain, possible=possible_pairs(self.rules, domain))
        ledger.charge(*domain_entries(domain, self.declared), *self.side)
        coder = Coder(domain, self.rules, coins.spawn("cells outside the domain"))
        rows = SourceCounts(table, coder, names)
        if folder is not None:
            assert isinstance(table, LocalSource)  # check_scratch refused others
            rows = keep_codes(table, coder, names, folder)
        sampler = fit_release(rows, domain, self.settings, self.learner, ledger, coins, transcript)
        assert isinstance(sampler, PrefixSampler)
        return Found(domain=domain, rules=rules, sampler=sampler)

    def schema(self, found: Found, name: str) -> TableSchema:
        """Columns of the release: types from what was released and declared, none from the source."""
        whole = found.rules.whole(found.domain)
        return TableSchema(
            table=name,
            columns=tuple(
                Column(
                    name=column,
                    label=column,
                    spec=spec.words,
                    dtype=output_type(whole[column]) if column in whole else invented_type(spec.words),
                )
                for column, spec in self.types.items()
            ),
        )

    def _private(self) -> DomainPlan:
        s = self.settings
        return self.declared.plan_private(self.specs, s.epsilon, s.model_delta, s.neighbours)
