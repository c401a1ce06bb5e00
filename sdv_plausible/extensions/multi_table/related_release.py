"""Release of related tables: one object and one file, sampled without SDV and without rows."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sdv_plausible.extensions.multi_table.related_sampling import (
    ChildSampler,
    child_samplers,
    count_attribute,
)
from sdv_plausible.extensions.multi_table.relationships import (
    MOST_CHILDREN,
    MOST_ROWS,
    MOST_TABLES,
    OFTEN,
    Relationship,
    Role,
    TableTree,
    max_rows_per_family,
)
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.ledger import SENTENCE_ENTRIES, PrivacyLedger
from sdv_plausible.privacy.neighbours import RELATIONS, Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import listed
from sdv_plausible.release.file import json_documents
from sdv_plausible.release.file.all_sections import SECTIONS, read_document
from sdv_plausible.release.file.answers_section import AnswersSection
from sdv_plausible.release.file.document_nodes import DocumentNode
from sdv_plausible.release.file.ledger_section import check_complexity
from sdv_plausible.release.file.release import Release
from sdv_plausible.release.file.release_sampling import complete_table
from sdv_plausible.release.file.schema_section import SchemaColumn, TableSchema
from sdv_plausible.rules.rule_set import FittedRules
from sdv_plausible.table.cells.canonical_forms import LONGEST_NAME
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.utils.atomic_files import write_atomically
from sdv_plausible.utils.text_output import escape_controls

if TYPE_CHECKING:
    from sdv_plausible.release.card.privacy_card import PrivacyCard

FORMAT = json_documents.MULTI_TABLE_FORMAT
MOST_ROLES = 1000
COVERS = "all tables and what links them, any number of rows, and the saved release"


@dataclass(frozen=True, kw_only=True, eq=False)
class FamilyRelease:
    """Release of related tables: samples all tables, and is written to one file.

    Attributes
    ----------
    tree : TableTree
        The tables and their relationships.
    tables : mapping of str to Release
        One per table. The root's has its columns and the numbers of children of its rows. Every other table's
        also has the columns of the parent and of a sibling; its model draws a row's columns given these, and
        generates no table on its own.
    roles : mapping of str to tuple of Role
        Values that only one child of a parent has, by child table.
    """

    tree: TableTree
    tables: Mapping[str, Release]
    roles: Mapping[str, tuple[Role, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tree, ledgers = self.tree, {name: one.ledger for name, one in self.tables.items()}
        if {*self.tables} != {*tree.tables}:
            raise ValueError(f"tables ({listed(sorted(self.tables))}) must be {listed(sorted(tree.tables))}")
        for name, one in self.tables.items():
            if one.schema.table != name:
                raise ValueError(
                    f"table {name!r:.40} must be of that name: its schema has {one.schema.table!r:.40}"
                )
        for name in tree.tables:
            for count, most in tree.counts(name).items():
                domain = self.tables[name].domain
                if count not in domain or domain[count] != count_attribute(count, most):
                    raise ValueError(
                        f"table {name!r} must have the column {count!r}, of 0 to {most}: give the release of "
                        "one fit"
                    )
        for link in tree.links:
            parent, child = self.tables[link.parent], self.tables[link.child]
            if parent.schema.primary_key != link.primary_key or not (
                link.primary_key in _unmodelled_columns(parent)
                and link.foreign_key in _unmodelled_columns(child)
            ):
                raise ValueError(
                    f"keys of {link.parent!r} and {link.child!r} must be those that their link names"
                )
            if {_sdtype(parent, link.primary_key), _sdtype(child, link.foreign_key)} != {"id"}:
                raise ValueError(f"keys of {link.parent!r} and {link.child!r} must have sdtype 'id'")
        assert self._samplers is not None  # raises if the tables are not of one fit
        for name, one in self.tables.items():
            rules, own_columns = one.rules.rule_set, {*self.own_model_columns(name), *one.rules.made}
            if rules.row_constraints or any(
                {*rule.columns, *rule.added} - own_columns for rule in rules.deriving_rules
            ):
                raise ValueError(f"rules of table {name!r} must make columns of its own columns, and no more")
        keys = {tree.root: None} | {link.child: link.foreign_key for link in tree.links}
        privacy_units = {
            name: Neighbours(
                rows=max_rows_per_family(tree, self.roles, name), replace=tree.replace, person=key
            )
            for name, key in keys.items()
        }
        is_one_fit = all(ledgers[name].neighbours == privacy_units[name] for name in tree.tables)
        if not is_one_fit or len({one.delta for one in ledgers.values()}) != 1:
            raise ValueError("tables must be of one fit: their ledgers protect no one family")

    @cached_property
    def _samplers(self) -> Mapping[str, ChildSampler]:
        return child_samplers(self.tree, self.tables, self.roles)

    @property
    def _root(self) -> Release:
        return self.tables[self.tree.root]

    # --- privacy ----------------------------------------------------------------------------------

    @property
    def ledger(self) -> PrivacyLedger:
        """Privacy ledger of all tables: the total of this release."""
        return joint_ledger(self.tree, {name: one.ledger for name, one in self.tables.items()})

    # --- rows -------------------------------------------------------------------------------------

    def number_of_families(self) -> int:
        """Noisy number of rows of the root; it was paid for in the fit."""
        return self._root.answers.number_of_rows()

    def mean_rows(self, table: str) -> float:
        """Mean number of rows of a table per family, from the noisy counts."""
        check.one_of("table", table, self.tree.tables)
        return math.prod(self._children_each(link) for link in self.tree.path(table))

    def _children_each(self, link: Relationship) -> float:
        margin = self.tables[link.parent].margins(link.count)
        weight = margin["estimate"].clip(lower=0).to_numpy(dtype=float)
        children = margin.index.to_numpy(dtype=float)
        return float((children * weight).sum() / max(weight.sum(), 1.0))

    def sample(
        self, num_families: int | None = None, *, random_state: int | None = None
    ) -> dict[str, pd.DataFrame]:
        """Sample all tables. The ledger's total covers any number of samples.

        Parameters
        ----------
        num_families : int, optional
            Rows of the root, >= 0; by default their noisy number.
        random_state : int, optional
            Seed for a reproducible sample; fresh randomness by default.

        Returns
        -------
        dict of DataFrame
            All tables by name. Every key is generated, and every child has its parent.
        """
        num_rows = self.number_of_families() if num_families is None else num_families
        check.whole("num_families", num_rows, 0, "try 1000")
        return self.drawn(int(num_rows), make_rng(random_state))

    def drawn(self, number: int, rng: KeyedRNG) -> dict[str, pd.DataFrame]:
        """Sample ``number`` rows of the root and their descendants."""
        root, table_rng = self.tree.root, rng.spawn("parents")
        self._root.check_memory(number)
        rows = {root: self._root.sample_modelled(number, table_rng)}  # modelled columns
        drawn = {root: self._completed(root, rows[root], partial(table_rng.spawn, "invented"))}
        for name, sampler in self._samplers.items():
            link, table_rng = sampler.link, rng.spawn("children").spawn(name)
            parents = rows[link.parent]
            sizes = parents[link.count].to_numpy(dtype=np.int64)
            self.tables[name].check_memory(int(sizes.sum()))
            rows[name] = sampler.children(parents, sizes, table_rng.spawn("modelled"))
            keys = (
                drawn[link.parent][link.primary_key].loc[parents.index.repeat(sizes)].reset_index(drop=True)
            )
            table = rows[name].assign(**{link.foreign_key: keys})
            drawn[name] = self._completed(name, table, table_rng.spawn("invented").spawn)
        return drawn

    def own_columns(self, table: str) -> list[SchemaColumn]:
        """A table's own columns, without numbers of children and columns of related rows."""
        release, own = self.tables[table], {*self.own_model_columns(table)}
        samplers = [self._samplers[link.child] for link in self.tree.below(table)]
        others = {*release.domain.names} - own | {*self.tree.counts(table)}
        others |= {name for sampler in samplers for name in sampler.firsts}
        return [column for column in release.schema.columns if column.name not in others]

    def whole(self, table: str) -> Domain:
        """Domain of a table's own columns, as they are in the table."""
        release, own = self.tables[table], {column.name for column in self.own_columns(table)}
        return Domain(tuple(a for a in release.rules.whole(release.domain) if a.name in own))

    def own_model_columns(self, table: str) -> list[str]:
        """The model's columns of a table, without those of parents and siblings."""
        sampler = self._samplers.get(table)
        return [*self.tables[table].domain.names] if sampler is None else sampler.columns

    def _completed(self, name: str, rows: pd.DataFrame, streams: Callable[[str], KeyedRNG]) -> pd.DataFrame:
        """Build a table as it is released, from the model's columns and foreign keys."""
        release = self.tables[name]
        schema = replace(release.schema, columns=tuple(self.own_columns(name)))
        rows, domain = release.rules.unfold(rows), self.whole(name)
        return complete_table(rows, schema, domain, streams, locales=release.settings["locales"])

    def card(self, *, budget: Any = None, **known: str) -> PrivacyCard:
        """Make the privacy card that a data-protection officer files: one card for all tables.

        Parameters
        ----------
        budget : Budget, optional
            The budget that the fit drew from; its total covers all releases about these people.
        **known
            Details that only a person knows, as for :meth:`~sdv_plausible.Release.card`.
        """
        from sdv_plausible.release.card.card_contents import card_of

        return card_of(_CardView.of(self), budget=budget, known=known)

    # --- file -------------------------------------------------------------------------------------

    def to_bytes(self, *, readable: bool = False) -> bytes:
        """Contents of the file; equal releases give equal bytes."""
        document = {
            "format": FORMAT,
            "neighbours": self.tree.neighbours,
            "links": [asdict(link) for link in self.tree.links],
            "tables": {name: self.tables[name]._document() for name in self.tree.tables},
            "roles": {
                name: [asdict(role) for role in self.roles[name]]
                for name in self.tree.tables
                if self.roles.get(name)
            },
        }
        return json_documents.write(document, readable=readable)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the file that :meth:`save` writes."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def save(self, path: str | Path, *, readable: bool = False) -> str:
        """Write the release atomically and return its digest."""
        write_atomically(path, self.to_bytes(readable=readable))
        return self.digest

    @classmethod
    def load(
        cls,
        path: str | Path,
        expect_sha256: str | None = None,
        *,
        max_bytes: int = 2 * json_documents.MAX_BYTES,
    ) -> FamilyRelease:
        """Read a release. No content of the file is executed.

        Raises
        ------
        ValueError
            If the file is damaged, is no release of related tables, is larger than ``max_bytes``, or has
            another digest than ``expect_sha256``.
        """
        check.whole("max_bytes", max_bytes, 1, f"try {2 * json_documents.MAX_BYTES}")
        what = "a release of related tables"
        return json_documents.load_file(
            path, lambda data: cls.from_bytes(data, max_bytes=max_bytes), what, expect_sha256, max_bytes
        )

    @classmethod
    def from_bytes(cls, data: bytes, *, max_bytes: int = 2 * json_documents.MAX_BYTES) -> FamilyRelease:
        """Read the output of :meth:`to_bytes`.

        Raises
        ------
        ValueError
            If ``data`` is no release of related tables.
        """
        top = DocumentNode(json_documents.read(data, max_bytes), "")
        if not isinstance(top.value, dict) or top.value.get("format") != FORMAT:
            raise ValueError(f"the entry 'format' must be {FORMAT!r}")
        fields = top.fields(("format", "neighbours", "links", "tables", "roles"))
        links = [
            Relationship(
                **{name: entry[name].text(LONGEST_NAME) for name in _TEXTS},
                most=entry["most"].whole(1, MOST_CHILDREN),
            )
            for entry in (one.fields((*_TEXTS, "most")) for one in fields["links"].items(MOST_TABLES))
        ]
        tree = TableTree(links=tuple(links), neighbours=fields["neighbours"].choice(RELATIONS))
        if max(map(tree.rows, tree.tables)) > MOST_ROWS:
            raise ValueError(f"the entry 'links' must leave a family at most {MOST_ROWS:,} rows of a table")
        documents = fields["tables"].fields(tree.tables)
        check_complexity(one.fields(SECTIONS)["ledger"] for one in documents.values())
        tables = {name: Release(**read_document(one.value)) for name, one in documents.items()}
        roles = {
            name: _read_roles(one, tables[name].domain)
            for name, one in fields["roles"].entries().items()
            if DocumentNode(name, "roles").choice([link.child for link in links])
        }
        return cls(tree=tree, tables=tables, roles=roles)

    def __str__(self) -> str:
        first = escape_controls(self.ledger.words.first, keep="")
        return f"FamilyRelease of {listed(self.tree.tables)}, sha256 {self.digest}\n{first}"

    __repr__ = __str__


@dataclass(frozen=True, kw_only=True)
class _CardView:
    """All tables in the form of one release, as a card needs it."""

    ledger: PrivacyLedger
    schema: TableSchema
    domain: Domain
    settings: Mapping[str, Any]
    answers: AnswersSection
    versions: Mapping[str, str]
    digest: str
    rules: FittedRules
    named: tuple[str, ...]  # the tables

    @classmethod
    def of(cls, release: FamilyRelease) -> _CardView:
        columns, domain, root = [], [], release.tables[release.tree.root]
        for table in release.tree.tables:
            columns += [replace(c, name=f"{table}.{c.name}") for c in release.own_columns(table)]
            domain += [replace(a, name=f"{table}.{a.name}") for a in release.whole(table)]
        return cls(
            ledger=release.ledger,
            schema=TableSchema(table=" and ".join(release.tree.tables), columns=tuple(columns)),
            domain=Domain(tuple(domain)),
            settings=root.settings, answers=root.answers, versions=root.versions,
            digest=release.digest, rules=FittedRules(), named=release.tree.tables,
        )  # fmt: skip


def _sdtype(release: Release, name: str) -> Any:
    """Semantic type of a column of a table."""
    return next(column.spec["sdtype"] for column in release.schema.columns if column.name == name)


def _unmodelled_columns(release: Release) -> set[str]:
    """Columns that are not modelled."""
    return {column.name for column in release.schema.columns} - {*release.rules.whole(release.domain).names}


_TEXTS = ("parent", "child", "primary_key", "foreign_key")


def _read_roles(node: DocumentNode, domain: Domain) -> tuple[Role, ...]:
    roles = []
    for item in node.items(MOST_ROLES):
        fields = item.fields(("column", "code", "often"))
        column = fields["column"].choice(domain.names)
        code = fields["code"].whole(0, domain[column].cardinality - 1)
        roles.append(Role(column=column, code=code, often=fields["often"].choice(OFTEN)))
    return tuple(roles)


def joint_ledger(tree: TableTree, ledgers: Mapping[str, PrivacyLedger]) -> PrivacyLedger:
    """Combine the ledgers of all tables; every loss protects the same unit, so that they compose."""
    joint = PrivacyLedger(delta=ledgers[tree.root].delta, covers=COVERS, neighbours=tree.family)
    joint.is_recorded = any(ledger.is_recorded for ledger in ledgers.values())
    for table in tree.tables:
        joint.charge(
            *(
                replace(
                    entry,
                    name=f"{table}: {entry.name}",
                    scope=entry.scope if entry.scope == "everything" else f"{table}: {entry.scope}",
                    assumes=tuple(f"{table}.{column}" for column in entry.assumes),
                )
                for entry in ledgers[table].entries
                if entry.losses or entry.name not in SENTENCE_ENTRIES
            )
        )
    return joint


def make_rng(random_state: int | None) -> KeyedRNG:
    """Return a random generator from a seed, or from the operating system's entropy."""
    return KeyedRNG.from_os_entropy() if random_state is None else KeyedRNG.from_seed(random_state)
