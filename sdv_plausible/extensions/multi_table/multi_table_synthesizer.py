"""Synthesizer for related tables, with SDV's multi-table interface and one privacy total."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

import sdv_plausible.rules as kinds
from sdv_plausible.extensions.multi_table.related_checks import check_keys, check_table
from sdv_plausible.extensions.multi_table.related_fit import (
    MultiTableSpecs,
    fit_tables,
    own_columns,
    planned_ledger,
)
from sdv_plausible.extensions.multi_table.related_release import FamilyRelease, make_rng
from sdv_plausible.extensions.multi_table.related_rows import join_families
from sdv_plausible.extensions.multi_table.relationships import Often, Role, read_roles, read_tree
from sdv_plausible.fitting.diagnostics import HolderDiagnostics, warn_of_assumed_types
from sdv_plausible.fitting.ledger_notes import check_types
from sdv_plausible.fitting.object_state import (
    check_budget_there,
    fixed_parameters,
    is_path,
    without_details,
    without_transient,
)
from sdv_plausible.fitting.release_budget import Budget, check_budget
from sdv_plausible.fitting.reused_domain import without_assumed_format
from sdv_plausible.mechanism.privacy_tests.privacy_settings import check_total
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.losses import InfiniteLoss
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.neighbours import Relation
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import listed
from sdv_plausible.release.file.ledger_section import check_joint_ledgers_fit
from sdv_plausible.table.cells.cell_series import normalize_cells
from sdv_plausible.table.cells.dates import shows_time, write_dates
from sdv_plausible.table.columns.cell_reader import ColumnType
from sdv_plausible.table.columns.column_document import type_words
from sdv_plausible.table.columns.domain import MAX_BINS
from sdv_plausible.table.data_checks import Check
from sdv_plausible.table.declared.access_log import log_access_of_domain
from sdv_plausible.table.declared.declarations import Types, as_domain_file
from sdv_plausible.table.declared.domain_file import DomainFile
from sdv_plausible.table.files.storage_types import mask_invalid_utf8

if TYPE_CHECKING:
    from sdv_plausible.extensions.multi_table.related_release import FamilyRelease
    from sdv_plausible.rules.rule import DerivingRule
    from sdv_plausible.table.columns.domain import Attribute, Domain


Tables = dict[str, pd.DataFrame]
SUCH_AS = "such as {'persons': {'relation': {'head': 'exactly one'}}}"


class PlausibleDeniabilityMultiTableSynthesizer:
    """Synthesizer for related tables, with SDV's ``fit`` and ``sample``.

    One privacy guarantee covers all tables.

    Parameters
    ----------
    metadata : sdv.metadata.Metadata
        Tables and their relationships: one root table, and one parent table for every other table.
    epsilon, delta : float
        Privacy parameters of the whole release: all tables and their relationships.
    max_children : int or mapping of str to int
        Maximum number of children used per parent: a public number, >= 1, for all child tables or for each.
        Of a parent with more children, this many are chosen secretly. The noise of a table grows with the
        product of these numbers on its path from the root.
    domain : mapping, optional
        For each table, the argument ``domain`` of :class:`~sdv_plausible.PlausibleDeniabilitySynthesizer`.
        Domains that are not declared are learned within the budget.
    roles : mapping, optional
        Values that only one child of a parent has, known without the rows: ``{"persons": {"relation":
        {"head": "exactly one", "spouse": "at most one"}}}``. They hold in every sample and cost nothing.
        Children with a role "exactly one" get less noise, and the other children are drawn given them.
    types : {"declared", "detected"}, optional
        As in that class; keys and relationships count as types.
    max_bins : int
        As in that class.
    locales : list of str
        As in that class.
    neighbours : {"add_remove", "replace_one"}
        Whether neighbouring datasets differ by adding or removing one family, or by replacing one.
    budget : Budget, optional
        A total over several releases; every fit draws from it before it reads a row.
    random_state : int, optional
        Seed for reproducible tests; the ledger then claims no privacy.

    Notes
    -----
    The privacy unit is one family: a row of the root with all its descendants. Of several parent rows with
    the same key, one is used, chosen secretly. Rows without a key are not used, nor are children without a
    parent (docs/explanation/proofs/related_tables.md).

    Examples
    --------
    >>> synth = PlausibleDeniabilityMultiTableSynthesizer(metadata, domain=domain)  # doctest: +SKIP
    >>> synth.fit({"households": households, "persons": persons})                    # doctest: +SKIP
    >>> synth.sample_scale(1.0)["persons"]                                           # doctest: +SKIP
    """

    epsilon: float
    delta: float
    domain: Mapping[str, Any] | None
    budget: Budget | None = None
    watch_progress: Callable[[str], object] | None = None
    """Called with the progress of a fit, in words for the data owner; never saved."""

    def __init__(
        self,
        metadata: Any,
        locales: list[str] | str = ["en_US"],  # noqa: B006  SDV's own default, never changed
        epsilon: float = 1.0,
        delta: float = 1e-9,
        max_children: int | Mapping[str, int] = 8,
        domain: Mapping[str, Any] | None = None,
        roles: Mapping[str, Mapping[str, Mapping[Any, Often]]] = {},
        types: Types | None = None,
        max_bins: int = MAX_BINS,
        neighbours: Relation = "add_remove",
        budget: Budget | None = None,
        random_state: int | None = None,
    ) -> None:
        given = locals()
        check_total(epsilon, delta)
        check_types(types)
        tree, columns, keys = read_tree(metadata, max_children, neighbours)
        check_budget(budget)
        if not isinstance(domain, (Mapping, type(None))) or (domain and {*domain} - {*tree.tables}):
            rule = f"must be a mapping of {listed(sorted(tree.tables))} to declarations"
            raise check.Refused("domain", domain, rule)
        if types == "voted":
            raise check.Refused.saying(
                "types", 'types ("voted"): related tables take types that are declared in the metadata alone'
            )
        for name in PARAMETERS:
            if name not in NOT_FIXED:
                setattr(self, name, given[name])  # a read-only copy
        declared = {name: as_domain_file(one) for name, one in (domain or {}).items()}
        self.metadata, self.budget = without_details(metadata), budget
        files = {name: declared[name] if is_path(one) else one for name, one in (domain or {}).items()}
        self._from_files = {"domain": files} if any(map(is_path, (domain or {}).values())) else {}
        self._made = date.today().isoformat()
        self._fitted: str | None = None
        self._specs = MultiTableSpecs(
            tree=tree, columns=columns, keys=keys, epsilon=epsilon, delta=delta,
            own=own_columns(tree, columns, declared, max_bins), domain=declared, types=types,
            max_bins=max_bins, locales=locales, random_state=random_state,
        )  # fmt: skip
        self._release: FamilyRelease | None = None
        self._specs = self._with_roles(roles).calibrated()

    def __getstate__(self) -> dict[str, Any]:
        return without_transient(vars(self))

    def _with_roles(self, roles: Any) -> MultiTableSpecs:
        """Return the specs with the roles of each child table."""
        children = sorted(link.child for link in self._specs.tree.links)
        if not isinstance(roles, Mapping):
            rule = f"must be a mapping of {listed(children)} to roles"
            raise check.Refused("roles", roles, rule, SUCH_AS)
        if strange := {*roles} - {*children}:
            check.one_of("roles", min(map(str, strange)), children, of="a table that hangs on another")
        found = dict[str, tuple[Role, ...]]()
        for name, given in roles.items():
            own = self._specs.own[name]
            known = {column: own.declared.known(column) for column in own.specs if column in own.types}
            if read := read_roles(given, known):
                found[name] = read
        return replace(self._specs, roles=found)

    @classmethod
    def from_release(
        cls, release: FamilyRelease, **parameters: Any
    ) -> PlausibleDeniabilityMultiTableSynthesizer:
        """Return a synthesizer for a release. It samples like the one that was fitted, and holds no rows.

        Parameters
        ----------
        release : FamilyRelease
            From :meth:`FamilyRelease.load`.
        **parameters
            Parameters of this class that replace the release's, for another fit.
        """
        given: Any = release
        if not isinstance(given, FamilyRelease):
            way_out = "read a file with FamilyRelease.load(path)"
            raise check.Refused("release", type(given), "must be a FamilyRelease", way_out)
        synth = cls(**{**arguments_of(release), **parameters})
        synth._release = release
        return synth

    def column_types(self) -> dict[str, dict[str, ColumnType]]:
        """Types of each table's columns, by which files are read."""
        return self._specs.column_types()

    def plan(self) -> PrivacyLedger:
        """Return the planned ledger of a fit, without reading a row."""
        return planned_ledger(self._specs)

    def check(self, data: Mapping[str, pd.DataFrame], show: Callable[[str], object] = print) -> Check:
        """Compare the tables with their declarations. NOT private: for the data owner only.

        Parameters
        ----------
        data : {table: DataFrame}
            The real rows.
        show : callable
            Receives a few values of each column that does not fit its declaration. By default they are
            printed; they are never stored.

        Returns
        -------
        Check
            The mismatches, without values; true if there are none. For each table it contains the findings of
            :meth:`PlausibleDeniabilitySynthesizer.check`. For keys it reports what a fit does without a
            warning: it leaves out rows whose key is missing or refers to no row, rows that repeat a key, rows
            beyond ``max_children``, and the descendants of all these. Domain files record which columns were
            compared.

        Raises
        ------
        ValueError
            If a table or a column of the metadata is missing.
        """
        return self.compared(data, show)[0]

    def compared(
        self, data: Mapping[str, pd.DataFrame], show: Callable[[str], object]
    ) -> tuple[Check, set[str]]:
        """Same as :meth:`check`, with the columns compared, each with its table's name."""
        specs, tables, found, compared_columns = self._specs, self._tables(data), [], set[str]()
        for name, types in specs.column_types().items():
            file = specs.domain.get(name, DomainFile(columns={}))
            findings, columns, lines = check_table(name, tables[name], types, file, specs.max_bins)
            found += findings
            compared_columns |= {f"{name}.{column}" for column in columns}
            for line in [*lines, *log_access_of_domain((self.domain or {}).get(name), columns)]:
                show(line)
        found += check_keys(tables, specs.tree)
        most = ", ".join(f"{link.child} {link.most}" for link in specs.tree.links)
        show(f"max_children ({most}) is kept in no file: chosen anew by this look, it makes no claim")
        return Check(tuple(found)), compared_columns

    def fit(self, data: Mapping[str, pd.DataFrame]) -> None:
        """Fit all tables. If this fails, the result of an earlier fit is kept.

        Parameters
        ----------
        data : {table: DataFrame}
            The real rows.

        Raises
        ------
        ValueError
            If a table or a column of the metadata is missing.
        """
        specs, tree = self._specs, self._specs.tree
        tables = self._tables(data)
        specs.check_stored(tables)
        check_budget_there(self)
        check_budget(self.budget)
        for table in (specs.root_fit(), *map(specs.child_fit, tree.links)):
            table.fit.pay(warns=False)  # raises now for values that no release file can hold
        check_joint_ledgers_fit(specs.epsilon, specs.planned.values())
        planned = self.plan()
        warn_of_assumed_types(planned)
        if self.budget is not None:
            _rehearse(specs, tables)
            description = f"{' and '.join(tree.tables)}, epsilon {rounded_up(specs.epsilon)}"
            self.budget.draw(planned, description)
        diagnostics = HolderDiagnostics(tell=self.watch_progress)
        release = _fit_all(specs, tables, make_rng(specs.random_state), diagnostics)
        self._release, self._fitted = release, date.today().isoformat()
        diagnostics.warn()

    def _tables(self, data: Any) -> dict[str, pd.DataFrame]:
        """Select the metadata's columns of all tables; checks names only."""
        columns_of = self._specs.columns
        if not isinstance(data, Mapping) or {*data} != {*columns_of}:
            names = sorted(map(str, data)) if isinstance(data, Mapping) else type(data).__name__
            raise check.Refused.saying(
                "data", f"data ({names}) must be a dict of the tables {sorted(columns_of)}"
            )
        selected = {}
        for name, columns in columns_of.items():
            if not isinstance(data[name], pd.DataFrame):
                raise check.Refused.saying("data", f"data: table {name!r} must be a DataFrame")
            given = list(map(str, data[name].columns))
            if sorted(given) != sorted(columns):
                raise check.Refused.saying(
                    "data",
                    f"data: columns of table {name!r} ({sorted(given)}) must be the "
                    f"metadata's ({sorted(columns)}), each once",
                )
            selected[name] = normalize_cells(
                mask_invalid_utf8(data[name].set_axis(given, axis=1)[list(columns)])
            )
        return selected

    def sample(
        self, num_rows: int, main_table_name: str | None = None, *, random_state: int | None = None
    ) -> Tables:
        """Sample all tables.

        Parameters
        ----------
        num_rows : int
            Rows of ``main_table_name``: exact for the root, approximate for other tables.
        main_table_name : str, optional
            By default the root.
        random_state : int, optional
            Seed for a reproducible sample; fresh randomness by default.
        """
        release, tree = self.release(), self._specs.tree
        main_table = tree.root if main_table_name is None else main_table_name
        check.one_of("main_table_name", main_table, tree.tables)
        num_families = check.whole("num_rows", num_rows, 0, "try 1000")
        if main_table != tree.root:
            num_families = round(num_families / max(release.mean_rows(main_table), 1e-3))
        return release.drawn(num_families, make_rng(random_state))

    def sample_scale(self, scale: float = 1.0, *, random_state: int | None = None) -> Tables:
        """Sample ``scale`` times as many families as the noisy number of the root's rows."""
        check.positive("scale", scale, "try 1.0")
        release = self.release()
        return release.drawn(round(scale * release.number_of_families()), make_rng(random_state))

    def privacy_ledger(self) -> PrivacyLedger:
        """Ledger of the release; before a fit, an empty ledger."""
        if self._release is None:
            return PrivacyLedger(delta=self._specs.delta, neighbours=self._specs.tree.family)
        return self._release.ledger

    def release(self) -> FamilyRelease:
        """Return the release of the fit. It samples and is saved without SDV, and holds no rows.

        Raises
        ------
        ValueError
            Before a fit. Where SDV is loaded, this is also SDV's SamplingError.
        """
        if self._release is None:
            raise _not_fitted_error("there is nothing to release yet: fit first")
        return self._release

    def save(self, filepath: str | Path) -> str:
        """Write the release and return its digest; :meth:`FamilyRelease.load` reads it."""
        return self.release().save(filepath)

    def get_metadata(self, version: str = "original") -> Any:
        """A copy of the metadata's schema: tables, columns, types, formats and keys.

        Ranges, values and digits are left out, because they may have been detected in the rows.

        Parameters
        ----------
        version : {"original", "modified"}
            As in SDV, where constraints modify the metadata. Here both are the same.
        """
        check.one_of("version", version, ("original", "modified"))
        return deepcopy(self.metadata)

    def get_parameters(self) -> dict[str, Any]:
        """Copies of the constructor's parameters, except ``metadata`` and ``budget``."""
        return {name: getattr(self, name) for name in PARAMETERS if name not in NOT_FIXED}

    def get_info(self) -> dict[str, Any]:
        """As SDV's: class, dates and versions; ``fitted_sdv_version`` is None, since SDV fits nothing."""
        return {
            "class_name": type(self).__name__,
            "creation_date": self._made,
            "is_fit": self._release is not None,
            "last_fit_date": self._fitted,
            "fitted_sdv_version": None,
        }


NOT_FIXED = ("metadata", "budget")
PARAMETERS = fixed_parameters(PlausibleDeniabilityMultiTableSynthesizer, but=NOT_FIXED)


def _fit_all(
    specs: MultiTableSpecs, tables: Tables, rng: KeyedRNG, diagnostics: HolderDiagnostics
) -> FamilyRelease:
    """Read, join and fit the rows, after the budget is charged."""
    tables_read = {name: specs.own[name].read(table) for name, table in tables.items()}
    first_candidates = specs.first_candidates(tables_read, rng.spawn("roles"))
    joined = join_families(tables_read, specs.tree, rng.spawn("families"), first_candidates)
    schemas = {name: table.iloc[:0] for name, table in tables.items()}
    return fit_tables(specs, replace(joined, schemas=schemas), rng, diagnostics)


def _rehearse(specs: MultiTableSpecs, tables: Tables) -> None:
    """Fit the same tables without rows and use the result, so that no schema makes a paid fit fail."""
    without_rows = {name: table.iloc[:0] for name, table in tables.items()}
    try:
        release = _fit_all(specs, without_rows, KeyedRNG.from_os_entropy(), HolderDiagnostics())
        release = FamilyRelease.from_bytes(release.to_bytes())
        release.sample(2)
        release.card()
    except Exception as error:
        raise check.Refused.saying(
            "data",
            f"data: tables of these columns cannot be fitted ({type(error).__name__}: {error}). Nothing was "
            "drawn from the budget. Leave out the column that is named, and please report this error",
        ) from error


def _not_fitted_error(text: str) -> ValueError:
    """A ValueError that is also SDV's SamplingError if SDV is loaded."""
    sampling_error = getattr(sys.modules.get("sdv.errors"), "SamplingError", None)
    kind = ValueError if sampling_error is None else type("NotFitted", (sampling_error, ValueError), {})
    return kind(text)


# --- Recover the arguments of a multi-table synthesizer from its release --------------------------


def arguments_of(release: FamilyRelease) -> dict[str, Any]:
    """Constructor arguments of a release, without learned domains: a refit learns them again."""
    settings, tree = release.tables[release.tree.root].settings, release.tree
    relationships = [
        {
            "parent_table_name": link.parent, "parent_primary_key": link.primary_key,
            "child_table_name": link.child, "child_foreign_key": link.foreign_key,
        }
        for link in tree.links
    ]  # fmt: skip
    return {
        "metadata": {
            "tables": {name: _table(release, name) for name in tree.tables},
            "relationships": relationships,
        },
        "locales": list(settings["locales"]),
        "epsilon": _epsilon(release),
        "delta": release.ledger.delta,
        "max_children": {link.child: link.most for link in tree.links},
        "domain": {name: _declared(release, name) for name in tree.tables},
        "roles": {name: _roles(release, name) for name in release.roles},
        "types": None if release.ledger.assumed_types else settings["types"],
        "max_bins": settings["max_bins"],
        "neighbours": tree.neighbours,
    }


def _table(release: FamilyRelease, name: str) -> dict[str, Any]:
    table_release, domain, columns = release.tables[name], release.whole(name), dict[str, Any]()
    for column in release.own_columns(name):
        columns[column.name] = dict(column.spec)
        if column.name in domain and (date_format := domain[column.name].datetime_format) is not None:
            # A domain file may have declared the format.
            columns[column.name].setdefault("datetime_format", date_format)
    key = table_release.schema.primary_key
    keys = {} if key is None else {"primary_key": list(key) if isinstance(key, tuple) else key}
    return {"columns": columns, **keys}


def _declared(release: FamilyRelease, name: str) -> dict[str, Any]:
    table_release, domain = release.tables[name], release.whole(name)
    assumed = table_release.ledger.assumed_types
    types = {
        column.name: type_words(column.spec)
        for column in release.own_columns(name)
        if assumed and column.name not in assumed
    }
    types |= {a.name: words for a in domain if a.name not in assumed and (words := _forms(a))}
    declared = {
        a.name: without_assumed_format(a, table_release.ledger) for a in domain if a.provenance == "declared"
    }
    rules = {
        made: _with_rule(rule, attribute, table_release.domain)
        for rule in table_release.rules.rule_set.deriving_rules
        for made, attribute in table_release.rules.made.items()
        if made in rule.made and (made in declared or made not in assumed)
    }
    return {**types, **declared, **rules}


def _forms(attribute: Attribute) -> dict[str, Any]:
    """Formats that SDV metadata cannot declare: numbers written as text, and dates with a time kept whole."""
    if attribute.number_format is not None:
        return {"sdtype": "numerical", "number_format": attribute.number_format}
    form = attribute.datetime_format
    return {"sdtype": "datetime", "parts": "whole"} if form is not None and shows_time(form) else {}


def _with_rule(rule: DerivingRule, attribute: Attribute, domain: Domain) -> dict[str, Any]:
    """Declaration of a column that a rule splits: how it is split, and its range if that was declared."""
    if isinstance(rule, kinds.DateAndTime):
        words: dict[str, Any] = {"sdtype": "datetime", "parts": "split", "resolution": rule.resolution}
    elif isinstance(rule, kinds.Multiple):
        words = {"sdtype": "numerical", "resolution": rule.step}
        steps = domain[rule.steps]
        specials = [low for low, high in zip(steps.lower, steps.upper, strict=True) if low == high]
        if 0 < len(specials) < len(steps.lower):
            words["special_values"] = [low * rule.step for low in specials]
    else:
        raise ValueError(f"column {attribute.name!r} is made by a rule that no declaration says: {rule}")
    if attribute.provenance != "declared":
        return {word: value for word, value in words.items() if word != "special_values"}
    bounds: list[Any] = [attribute.lower[0], attribute.upper[-1]]
    if attribute.kind == "datetime":
        timestamps = pd.Series(bounds, dtype="M8[ns]").dt.tz_localize("UTC")
        bounds = [str(one.tz_localize(None)) for one in timestamps]
        if (date_format := attribute.datetime_format) is not None:
            bounds = write_dates(timestamps, date_format).to_list()
    words |= dict(zip(("range_min", "range_max"), bounds, strict=True))
    return words | {"range_is_nullable": attribute.nullable}


def _roles(release: FamilyRelease, name: str) -> dict[str, Any]:
    domain, roles = release.tables[name].domain, dict[str, Any]()
    for role in release.roles[name]:
        attribute = domain[role.column]
        index = role.code - len(attribute.lower)  # codes: bins first, then values, then missing
        value = attribute.values[index] if index < len(attribute.values) else None
        roles.setdefault(role.column, {})[value] = role.often
    return roles


def _epsilon(release: FamilyRelease) -> float:
    """Epsilon of all tables together, without entries that have no finite loss."""
    if math.isinf(release.tables[release.tree.root].settings["epsilon"]):
        return math.inf
    charged = PrivacyLedger(delta=release.ledger.delta, neighbours=release.ledger.neighbours)
    for entry in release.ledger.entries:
        if not any(isinstance(loss, InfiniteLoss) for loss in entry.losses):
            charged.charge(entry)
    return charged.total()
