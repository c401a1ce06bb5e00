"""The release of two related tables: one object and one file, sampled without SDV and without any row."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.privacy import checks as check
from sdv_plausible.privacy.ledger import SAID, PrivacyLedger
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.related.drawing import Drawing
from sdv_plausible.related.links import Link
from sdv_plausible.related.roles import OFTEN, Role
from sdv_plausible.release.file import documents
from sdv_plausible.release.file.answers import Answers
from sdv_plausible.release.file.invented import invent
from sdv_plausible.release.file.parts import Placed
from sdv_plausible.release.file.release import Release
from sdv_plausible.release.file.schema import TableSchema, as_stored
from sdv_plausible.release.file.sections import read_document
from sdv_plausible.rules.rule_set import FittedRules
from sdv_plausible.table.cells.forms import LONGEST_NAME
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.columns.output_types import usual_types
from sdv_plausible.utils.whole_files import write_whole

if TYPE_CHECKING:
    from sdv_plausible.release.papers.privacy_card import PrivacyCard

FORMAT = documents.OF_FAMILIES
MOST_ROLES = 1000
COVERS = "both tables and what links them, any number of rows, and the saved release"


@dataclass(frozen=True, kw_only=True, eq=False)
class FamilyRelease:
    """What a fit of two related tables releases: it makes families, and is written to one file.

    Attributes
    ----------
    link : Link
        How the tables hang together.
    parents : Release
        Of the parents' table, with how many children each has.
    children : Release
        Of a table with a line for each child: its columns, its parent's, and those of a sibling. Its model
        draws a child's columns when the others are there; on its own it makes no table.
    roles : tuple of Role
        What only one child of a family is.
    """

    link: Link
    parents: Release
    children: Release
    roles: tuple[Role, ...] = ()

    def __post_init__(self) -> None:
        if self.link.count not in self.parents.domain:
            raise ValueError(f"parents must have the column {self.link.count!r}: give the release of one fit")
        assert self._drawing is not None  # it complains of what is not of one fit
        units = ONE_ROW, Neighbours(rows=self.link.most, person=self.link.foreign_key)
        ledgers = self.parents.ledger, self.children.ledger
        if tuple(one.neighbours for one in ledgers) != units or len({one.delta for one in ledgers}) != 1:
            raise ValueError("parents and children must be of one fit: their ledgers protect no one family")

    @cached_property
    def _drawing(self) -> Drawing:
        model, domain, names = self.children.model, self.children.domain, self.parents.domain.names
        if not isinstance(model, BayesianNetwork):
            raise ValueError("the children's model must be a Bayesian network, which draws them given others")
        return Drawing(model=model, domain=domain, parents=names, link=self.link, roles=self.roles)

    # --- what it cost -----------------------------------------------------------------------------

    @property
    def ledger(self) -> PrivacyLedger:
        """What both tables cost together: the one total of this release."""
        return joint_ledger(self.link, self.parents.ledger, self.children.ledger)

    # --- rows -------------------------------------------------------------------------------------

    def number_of_parents(self) -> int:
        """Noisy number of the parents' rows, which was paid for."""
        return self.parents.answers.number_of_rows()

    def children_each(self) -> float:
        """Children of a parent on average, of the noisy counts."""
        counted = self.parents.margins(self.link.count)
        weight = counted["estimate"].clip(lower=0).to_numpy(dtype=float)
        children = counted.index.to_numpy(dtype=float)
        return float((children * weight).sum() / max(weight.sum(), 1.0))

    def sample(
        self, num_parents: int | None = None, *, random_state: int | None = None
    ) -> dict[str, pd.DataFrame]:
        """Draw families, as many and as often as you like: the ledger's total covers all of them.

        Parameters
        ----------
        num_parents : int, optional
            Rows of the parents' table, >= 0; by default their noisy number.
        random_state : int, optional
            The same families again; by default fresh ones.

        Returns
        -------
        dict of DataFrame
            Both tables by name: every key is invented, and every child has its parent.
        """
        number = self.number_of_parents() if num_parents is None else num_parents
        check.whole("num_parents", number, 0, "try 1000")
        return self.drawn(int(number), coins_of(random_state))

    def drawn(self, number: int, coins: Coins) -> dict[str, pd.DataFrame]:
        """Draw so many parents with their children, from these coins."""
        self.parents.check_memory(number)
        drawn = self.parents.drawn(number, coins.spawn("parents"))
        sizes = drawn[self.link.count].to_numpy(dtype=np.int64)
        table = self._drawing.children(drawn, sizes, coins.spawn("children"))
        keys = drawn[self.link.primary_key].loc[drawn.index.repeat(sizes)].reset_index(drop=True)
        children = self._whole(table, keys, coins.spawn("invented"))
        return {self.link.parent: drawn.drop(columns=self.link.count), self.link.child: children}

    def _whole(self, table: pd.DataFrame, keys: pd.Series[Any], coins: Coins) -> pd.DataFrame:
        """The children's table: modelled columns, their parents' keys, and what is made up."""
        columns, schema = {}, self.children.schema
        beside = {*self.children.domain.names} - {*table}
        for column in schema.columns:
            if column.name in table:
                columns[column.name] = as_stored(table[column.name], column.dtype)
            elif column.name == self.link.foreign_key:
                columns[column.name] = keys
            elif column.name not in beside:
                columns[column.name] = invent(
                    column, len(table), coins.spawn(column.name), is_key=column.name in schema.keys,
                    locales=self.children.settings["locales"],
                )  # fmt: skip
        own = Domain(tuple(self.children.domain[str(name)] for name in table))
        return usual_types(pd.DataFrame(columns), own)

    def card(self, *, budget: Any = None, **known: str) -> PrivacyCard:
        """Make the page on this release that a data-protection officer files: of both tables, one total.

        Parameters
        ----------
        budget : Budget, optional
            What the fit drew from: its sentence covers all releases of these people.
        **known
            What only a person knows, as for :meth:`~sdv_plausible.Release.card`.
        """
        from sdv_plausible.release.papers.card_lines import card_of

        return card_of(_Described.of(self), budget=budget, known=known)

    # --- as a file --------------------------------------------------------------------------------

    def to_bytes(self, *, readable: bool = False) -> bytes:
        """Content of the file; equal releases give equal bytes."""
        link = {name: getattr(self.link, name) for name in _LINK}
        document = {
            "format": FORMAT,
            "link": link,
            "parents": self.parents._document(),
            "children": self.children._document(),
            "roles": [{"column": r.column, "code": r.code, "often": r.often} for r in self.roles],
        }
        return documents.write(document, readable=readable)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the file that :meth:`save` writes."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def save(self, path: str | Path, *, readable: bool = False) -> str:
        """Write the release, whole or not at all, and return its digest."""
        write_whole(path, self.to_bytes(readable=readable))
        return self.digest

    @classmethod
    def load(
        cls, path: str | Path, expect_sha256: str | None = None, *, max_bytes: int = 2 * documents.MAX_BYTES
    ) -> FamilyRelease:
        """Read a release. Nothing in the file is run, whoever wrote it.

        Raises
        ------
        ValueError
            If the file is damaged, is none, is too large, or is another one than ``expect_sha256`` says.
        """
        check.whole("max_bytes", max_bytes, 1, f"try {2 * documents.MAX_BYTES}")
        return documents.loaded(
            path, lambda data: cls._read(data, max_bytes), "a release of two tables", expect_sha256, max_bytes
        )

    @classmethod
    def _read(cls, data: bytes, max_bytes: int) -> FamilyRelease:
        top = Placed(documents.read(data, max_bytes), "")
        if not isinstance(top.value, dict) or top.value.get("format") != FORMAT:
            raise ValueError(f"the entry 'format' must be {FORMAT!r}")
        f = top.fields(("format", "link", "parents", "children", "roles"))
        said = f["link"].fields(_LINK)
        link = Link(
            **{name: said[name].text(LONGEST_NAME) for name in _LINK if name != "most"},
            most=said["most"].whole(1),
        )
        parents, children = (Release(**read_document(f[name].value)) for name in ("parents", "children"))
        return cls(
            link=link, parents=parents, children=children, roles=_read_roles(f["roles"], children.domain)
        )

    def __str__(self) -> str:
        return (
            f"FamilyRelease of {self.link.parent!r} and {self.link.child!r}, sha256 {self.digest}\n"
            f"{self.ledger.words.first}"
        )

    __repr__ = __str__


@dataclass(frozen=True, kw_only=True)
class _Described:
    """Both tables as a card reads one."""

    ledger: PrivacyLedger
    schema: TableSchema
    domain: Domain
    settings: Mapping[str, Any]
    answers: Answers
    versions: Mapping[str, str]
    digest: str
    rules: FittedRules

    @classmethod
    def of(cls, release: FamilyRelease) -> _Described:
        parents, children = release.parents, release.children
        beside = {*children.domain.names} - {*release._drawing.columns}
        tables = (
            (
                release.link.parent,
                parents,
                [c for c in parents.schema.columns if c.name != release.link.count],
            ),
            (release.link.child, children, [c for c in children.schema.columns if c.name not in beside]),
        )
        columns = [replace(c, name=f"{name}.{c.name}") for name, _, of in tables for c in of]
        domain = {f"{name}.{a.name}": a for name, one, _ in tables for a in one.domain}
        return cls(
            ledger=release.ledger,
            schema=TableSchema(table=" and ".join(name for name, _, _ in tables), columns=tuple(columns)),
            domain=Domain(tuple(replace(domain[c.name], name=c.name) for c in columns if c.name in domain)),
            settings=parents.settings, answers=parents.answers, versions=parents.versions,
            digest=release.digest, rules=FittedRules(),
        )  # fmt: skip


_LINK = ("parent", "child", "primary_key", "foreign_key", "most")


def _read_roles(part: Placed, domain: Domain) -> tuple[Role, ...]:
    found = []
    for item in part.items(MOST_ROLES):
        said = item.fields(("column", "code", "often"))
        column = said["column"].choice(domain.names)
        code = said["code"].whole(0, domain[column].cardinality - 1)
        found.append(Role(column=column, code=code, often=said["often"].choice(OFTEN)))
    return tuple(found)


def joint_ledger(link: Link, parents: PrivacyLedger, children: PrivacyLedger) -> PrivacyLedger:
    """One ledger of both tables: every loss is of the same family, so that they compose."""
    joint = PrivacyLedger(delta=parents.delta, covers=COVERS, neighbours=link.family)
    for table, ledger in ((link.parent, parents), (link.child, children)):
        joint.charge(
            *(
                replace(
                    entry,
                    name=f"{table}: {entry.name}",
                    scope=entry.scope if entry.scope == "everything" else f"{table}: {entry.scope}",
                )
                for entry in ledger.entries
                if entry.losses or entry.name not in SAID
            )
        )
    return joint


def coins_of(random_state: int | None) -> Coins:
    """Fresh coins, or the same ones again."""
    return Coins.from_os_entropy() if random_state is None else Coins.from_seed(random_state)
