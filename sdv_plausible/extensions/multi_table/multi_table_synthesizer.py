"""SDV's multi-table face: tables that hang on one another, under one total."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd

from sdv_plausible.extensions.multi_table.from_release import arguments_of
from sdv_plausible.extensions.multi_table.related_checks import check_keys, check_table
from sdv_plausible.extensions.multi_table.related_fit import (
    MultiTableSpecs,
    fit_families,
    own_columns,
    planned_ledger,
)
from sdv_plausible.extensions.multi_table.related_release import FamilyRelease, coins_of
from sdv_plausible.extensions.multi_table.related_rows import brought_together
from sdv_plausible.extensions.multi_table.relationships import read_tree
from sdv_plausible.extensions.multi_table.roles import Often, Role, read_roles
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
from sdv_plausible.mechanism.privacy_tests.privacy_settings import check_total
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.neighbours import Relation
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import listed
from sdv_plausible.release.file.ledger_section import check_joint_ledgers_fit
from sdv_plausible.table.cells.cell_series import normalize_cells
from sdv_plausible.table.columns.cell_reader import ColumnType
from sdv_plausible.table.columns.domain import MAX_BINS
from sdv_plausible.table.data_checks import Check
from sdv_plausible.table.declared.access_log import log_access_of_domain
from sdv_plausible.table.declared.declarations import Types, as_domain_file
from sdv_plausible.table.declared.domain_file import DomainFile
from sdv_plausible.table.files.storage_types import mask_invalid_utf8

Tables = dict[str, pd.DataFrame]
SUCH_AS = "such as {'persons': {'relation': {'head': 'exactly one'}}}"


class PlausibleDeniabilityMultiTableSynthesizer:
    """Families: rows of one table with the rows of others that hang on them, with SDV's fit and sample.

    Parameters
    ----------
    metadata : sdv.metadata.Metadata
        Tables and their relationships: one root, and every other table hangs on one table.
    epsilon, delta : float
        The total of the whole release: all tables, and what links them.
    max_children : int or mapping of str to int
        Children of one parent that are used, at most: a public number, >= 1, for all children's tables or for
        each. A parent with more counts as if it had so many, chosen secretly. Noise grows with it: in a table
        that hangs on another one that hangs on the root, with the product of both.
    domain : mapping, optional
        For each table what :class:`~sdv_plausible.PlausibleDeniabilitySynthesizer` takes as ``domain``. Value
        sets that are not declared are learned under the budget.
    roles : mapping, optional
        Values that one child of a parent has, known without the rows: ``{"persons": {"relation": {"head":
        "exactly one", "spouse": "at most one"}}}``. They hold in every sample, and cost nothing; whoever
        there is exactly one of gets less noise, and the others are drawn given it.
    types : {"declared", "detected"}, optional
        As there; keys and relationships count as types.
    max_bins : int
        As there.
    locales : list of str
        As there.
    neighbours : {"add_remove", "replace_one"}
        What is protected: whether a family is in the data, or which one of so many it is.
    budget : Budget, optional
        A total over several releases, from which every fit draws before it looks at a row.
    random_state : int, optional
        Reproducible runs for tests; the ledger then makes no privacy claim.

    Notes
    -----
    One family is protected: a row of the root with all rows that hang on it, directly or through others. Of
    rows with one key on which others hang one is used, chosen secretly; rows without a key, and children
    whose parent is not there, are not used (docs/explanation/proofs/related_tables.md).

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
                setattr(self, name, given[name])  # a copy, fixed from now on
        declared = {name: as_domain_file(one) for name, one in (domain or {}).items()}
        self.metadata, self.budget = without_details(metadata), budget
        files = {name: declared[name] if is_path(one) else one for name, one in (domain or {}).items()}
        self._from_files = {"domain": files} if any(map(is_path, (domain or {}).values())) else {}
        self._made = date.today().isoformat()
        self._fitted: str | None = None
        self._told = MultiTableSpecs(
            tree=tree, columns=columns, keys=keys, epsilon=epsilon, delta=delta,
            own=own_columns(tree, columns, declared, max_bins), domain=declared, types=types,
            max_bins=max_bins, locales=locales, random_state=random_state,
        )  # fmt: skip
        self._release: FamilyRelease | None = None
        self._told = self._with_roles(roles).within()

    def __getstate__(self) -> dict[str, Any]:
        return without_transient(vars(self))

    def _with_roles(self, roles: Any) -> MultiTableSpecs:
        """What the fit is told, with roles by the children's table, read without the rows."""
        children = sorted(link.child for link in self._told.tree.links)
        if not isinstance(roles, Mapping):
            rule = f"must be a mapping of {listed(children)} to roles"
            raise check.Refused("roles", roles, rule, SUCH_AS)
        if strange := {*roles} - {*children}:
            check.one_of("roles", min(map(str, strange)), children, of="a table that hangs on another")
        found = dict[str, tuple[Role, ...]]()
        for name, given in roles.items():
            own = self._told.own[name]
            known = {column: own.declared.known(column) for column in own.specs if column in own.types}
            if read := read_roles(given, known):
                found[name] = read
        return replace(self._told, roles=found)

    @classmethod
    def from_release(
        cls, release: FamilyRelease, **parameters: Any
    ) -> PlausibleDeniabilityMultiTableSynthesizer:
        """Make a synthesizer of a release: it samples as the one that was fitted, and no row is there.

        Parameters
        ----------
        release : FamilyRelease
            From :meth:`FamilyRelease.load`.
        **parameters
            Parameters of this class in the place of the release's, for another fit.
        """
        given: Any = release
        if not isinstance(given, FamilyRelease):
            way_out = "read a file with FamilyRelease.load(path)"
            raise check.Refused("release", type(given), "must be a FamilyRelease", way_out)
        found = cls(**{**arguments_of(release), **parameters})
        found._release = release
        return found

    def column_types(self) -> dict[str, dict[str, ColumnType]]:
        """What each column of each table is: how files are read."""
        return self._told.column_types()

    def plan(self) -> PrivacyLedger:
        """Say what a release would cost, before any row is looked at."""
        return planned_ledger(self._told)

    def check(self, data: Mapping[str, pd.DataFrame], show: Callable[[str], object] = print) -> Check:
        """Compare the tables with what was declared of them. NOT private: for the holder of the data alone.

        Parameters
        ----------
        data : {table: DataFrame}
            The real rows.
        show : callable
            Gets a few values of each column that does not fit; by default they are printed, and they are
            kept nowhere.

        Returns
        -------
        Check
            What does not fit, without values; true if everything does. Of each table what
            :meth:`PlausibleDeniabilitySynthesizer.check` says; of keys what a fit does without a word: it
            leaves out rows whose key is missing or names no row, rows that repeat a key, rows beyond
            ``max_children``, and what hangs on these. Domain files keep a record of the columns compared.

        Raises
        ------
        ValueError
            If a table or a column of the metadata is not there.
        """
        return self.compared(data, show)[0]

    def compared(
        self, data: Mapping[str, pd.DataFrame], show: Callable[[str], object]
    ) -> tuple[Check, set[str]]:
        """The same, and which columns were compared, each with its table's name."""
        told, tables, found, compared = self._told, self._tables(data), [], set[str]()
        for name, types in told.column_types().items():
            file = told.domain.get(name, DomainFile(columns={}))
            findings, looked, lines = check_table(name, tables[name], types, file, told.max_bins)
            found += findings
            compared |= {f"{name}.{column}" for column in looked}
            for line in [*lines, *log_access_of_domain((self.domain or {}).get(name), looked)]:
                show(line)
        found += check_keys(tables, told.tree)
        most = ", ".join(f"{link.child} {link.most}" for link in told.tree.links)
        show(f"max_children ({most}) is kept in no file: chosen anew by this look, it makes no claim")
        return Check(tuple(found)), compared

    def fit(self, data: Mapping[str, pd.DataFrame]) -> None:
        """Fit all tables; if it fails, an earlier fit stays as it was.

        Parameters
        ----------
        data : {table: DataFrame}
            The real rows.

        Raises
        ------
        ValueError
            If a table or a column of the metadata is not there.
        """
        told, tree = self._told, self._told.tree
        tables = self._tables(data)
        told.check_stored(tables)
        check_budget_there(self)
        check_budget(self.budget)
        for table in (told.of_root(), *map(told.of_child, tree.links)):
            table.fit.opened(warns=False)  # complains now of what no release file could hold
        check_joint_ledgers_fit(told.epsilon, told.planned.values())
        planned = self.plan()
        warn_of_assumed_types(planned)
        if self.budget is not None:
            _rehearse(told, tables)
            what = f"{' and '.join(tree.tables)}, epsilon {rounded_up(told.epsilon)}"
            self.budget.draw(planned, what)
        teller = HolderDiagnostics()
        release = _fitted(told, tables, coins_of(told.random_state), teller)
        self._release, self._fitted = release, date.today().isoformat()
        teller.warn()

    def _tables(self, data: Any) -> dict[str, pd.DataFrame]:
        """All tables with the metadata's columns: refused by names alone."""
        wanted = self._told.columns
        if not isinstance(data, Mapping) or {*data} != {*wanted}:
            names = sorted(map(str, data)) if isinstance(data, Mapping) else type(data).__name__
            raise check.Refused.saying(
                "data", f"data ({names}) must be a dict of the tables {sorted(wanted)}"
            )
        found = {}
        for name, columns in wanted.items():
            if not isinstance(data[name], pd.DataFrame):
                raise check.Refused.saying("data", f"data: table {name!r} must be a DataFrame")
            given = list(map(str, data[name].columns))
            if sorted(given) != sorted(columns):
                raise check.Refused.saying(
                    "data",
                    f"data: columns of table {name!r} ({sorted(given)}) must be the "
                    f"metadata's ({sorted(columns)}), each once",
                )
            found[name] = normalize_cells(
                mask_invalid_utf8(data[name].set_axis(given, axis=1)[list(columns)])
            )
        return found

    def sample(
        self, num_rows: int, main_table_name: str | None = None, *, random_state: int | None = None
    ) -> Tables:
        """Draw families.

        Parameters
        ----------
        num_rows : int
            Rows of ``main_table_name``: of the root exactly, of others about.
        main_table_name : str, optional
            By default the root.
        random_state : int, optional
            The same families again; by default fresh ones.
        """
        release, tree = self.release(), self._told.tree
        named = tree.root if main_table_name is None else main_table_name
        check.one_of("main_table_name", named, tree.tables)
        number = check.whole("num_rows", num_rows, 0, "try 1000")
        if named != tree.root:
            number = round(number / max(release.rows_each(named), 1e-3))
        return release.drawn(number, coins_of(random_state))

    def sample_scale(self, scale: float = 1.0, *, random_state: int | None = None) -> Tables:
        """Draw ``scale`` times as many families as the noisy number of the root's rows."""
        check.positive("scale", scale, "try 1.0")
        release = self.release()
        return release.drawn(round(scale * release.number_of_families()), coins_of(random_state))

    def privacy_ledger(self) -> PrivacyLedger:
        """What the release cost; before a fit, that nothing was charged."""
        if self._release is None:
            return PrivacyLedger(delta=self._told.delta, neighbours=self._told.tree.family)
        return self._release.ledger

    def release(self) -> FamilyRelease:
        """What the fit releases: it samples and is saved without SDV, and holds no row.

        Raises
        ------
        ValueError
            If nothing was fitted; where SDV is loaded it is SDV's SamplingError, too.
        """
        if self._release is None:
            raise _unfitted("there is nothing to release yet: fit first")
        return self._release

    def save(self, filepath: str | Path) -> str:
        """Write the release and return its digest; :meth:`FamilyRelease.load` reads it."""
        return self.release().save(filepath)

    def get_metadata(self, version: str = "original") -> Any:
        """A copy of the metadata's schema: tables, columns, types, formats and keys.

        Ranges, values and digits are left out, as they may have been detected in the rows.

        Parameters
        ----------
        version : {"original", "modified"}
            As in SDV, where constraints modify it. None are taken here, and both are the same.
        """
        check.one_of("version", version, ("original", "modified"))
        return deepcopy(self.metadata)

    def get_parameters(self) -> dict[str, Any]:
        """Copies of the constructor's parameters, but for ``metadata`` and ``budget``."""
        return {name: getattr(self, name) for name in PARAMETERS if name not in NOT_FIXED}

    def get_info(self) -> dict[str, Any]:
        """As SDV's: class, dates, and versions; ``fitted_sdv_version`` is None, as no part of SDV fits it."""
        return {
            "class_name": type(self).__name__,
            "creation_date": self._made,
            "is_fit": self._release is not None,
            "last_fit_date": self._fitted,
            "fitted_sdv_version": None,
        }


NOT_FIXED = ("metadata", "budget")
PARAMETERS = fixed_parameters(PlausibleDeniabilityMultiTableSynthesizer, but=NOT_FIXED)


def _fitted(
    told: MultiTableSpecs, tables: Tables, coins: KeyedRNG, teller: HolderDiagnostics
) -> FamilyRelease:
    """All that follows the draw from a budget: rows are read, brought together and fitted."""
    read = {name: told.own[name].read(table) for name, table in tables.items()}
    standing = told.standing(read, coins.spawn("roles"))
    families = brought_together(read, told.tree, coins.spawn("families"), standing)
    schemas = {name: table.iloc[:0] for name, table in tables.items()}
    return fit_families(told, replace(families, schemas=schemas), coins, teller)


def _rehearse(told: MultiTableSpecs, tables: Tables) -> None:
    """Fit the same tables without their rows, and use what comes out, so that no schema ends a paid fit."""
    without_rows = {name: table.iloc[:0] for name, table in tables.items()}
    try:
        release = _fitted(told, without_rows, KeyedRNG.from_os_entropy(), HolderDiagnostics())
        release = FamilyRelease.from_bytes(release.to_bytes())
        release.sample(2)
        release.card()
    except Exception as error:
        raise check.Refused.saying(
            "data",
            f"data: tables of these columns cannot be fitted ({type(error).__name__}: {error}). Nothing was "
            "drawn from the budget. Leave out the column that is named, and please report this error",
        ) from error


def _unfitted(text: str) -> ValueError:
    """A ValueError that is SDV's SamplingError, too, where that is loaded: who catches it has loaded it."""
    theirs = getattr(sys.modules.get("sdv.errors"), "SamplingError", None)
    kind = ValueError if theirs is None else type("NotFitted", (theirs, ValueError), {})
    return kind(text)
