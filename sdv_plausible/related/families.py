"""Rows brought together: each parent with how many children it has, each child with its parent and a sibling.

Every line is a function of one family's rows and of secret coins, and a family has one line of parents and at
most ``most`` of children: so the family moves what is counted by no more than that
(docs/explanation/proofs/related_tables.md, Lemma 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.fit.rows import TableRows
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.questions.codes import CodeArray
from sdv_plausible.related.links import Link
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.cell_texts import ColumnType, Spelling, read_again
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.persons import identities, numbered, smallest


@dataclass(frozen=True, kw_only=True)
class Families:
    """Both tables, brought together."""

    parents: pd.DataFrame  # a row for each, with ``link.count``
    children: pd.DataFrame  # a row for each that is used, with its parent's columns beside it
    siblings: np.ndarray  # of every child the row of one of its siblings, and -1 where it has none


def brought_together(parents: pd.DataFrame, children: pd.DataFrame, link: Link, coins: Coins) -> Families:
    """Parents with how many children each has, and children with their parent and a sibling.

    Of parents of one key one is chosen secretly, and of each one's children at most ``link.most``. Rows
    without a key are not used, nor children whose parent is not there.
    """
    keys, named = _same_names(parents[link.primary_key], children[link.foreign_key])
    at = smallest(keys, coins.spawn("parents").uniform(len(keys)), 1)
    place = np.full(
        max(int(keys.max(initial=-1)), int(named.max(initial=-1))) + 2, -1
    )  # the last is nobody's
    place[keys[at]] = np.arange(len(at))
    whose = place[named]
    used = smallest(whose, coins.spawn("children").uniform(len(whose)), link.most)
    whose = whose[used]
    sizes = np.bincount(whose, minlength=len(at))
    roots = parents.iloc[at].reset_index(drop=True).assign(**{link.count: sizes})
    beside = roots.iloc[whose].reset_index(drop=True).rename(columns=link.of_parent)
    joined = pd.concat([children.iloc[used].reset_index(drop=True), beside], axis=1)
    return Families(parents=roots, children=joined, siblings=siblings(whose, coins.spawn("siblings")))


class FamilyRows(TableRows):
    """Children in memory, each with its parent beside it: codes of a sibling are those of its own row.

    Parameters
    ----------
    table : DataFrame
        The modelled columns of children and of their parents.
    rules : RuleSet
        None, today.
    beside : ndarray of int
        Of every child the row of a sibling, and -1 where it has none.
    copies : mapping of str to str
        The column of the child that each column of a sibling is one of.
    """

    def __init__(
        self, table: pd.DataFrame, rules: RuleSet, *, beside: np.ndarray, copies: Mapping[str, str]
    ) -> None:
        super().__init__(table, rules)
        self._beside, self._copies = beside, copies

    def read_again(self, types: Mapping[str, ColumnType], spelling: Spelling, rules: RuleSet) -> FamilyRows:
        """The same with some columns read as from a file."""
        read = read_again(self._table, types, spelling)
        return FamilyRows(read, rules, beside=self._beside, copies=self._copies)

    def coded(self, domain: Domain, coins: Coins) -> CodeArray:
        """Codes of all rows."""
        own = Domain(tuple(attribute for attribute in domain if attribute.name not in self._copies))
        codes = Codec(own).encode(self._table[list(own.names)], coins)
        found = np.empty((len(codes), len(domain)), dtype=codes.dtype, order="F")
        alone = self._beside < 0
        for j, attribute in enumerate(domain):
            column = codes[:, own.names.index(self._copies.get(attribute.name, attribute.name))]
            is_copy = attribute.name in self._copies
            found[:, j] = np.where(alone, attribute.missing_code, column[self._beside]) if is_copy else column
        return CodeArray(found, domain.cardinalities)


def siblings(whose: np.ndarray, coins: Coins) -> np.ndarray:
    """For every child the place of one of its siblings, each as likely, and -1 where it has none."""
    order = np.lexsort((coins.uniform(len(whose)), whose))  # families one after the other, in a secret order
    starts = np.searchsorted(whose[order], whose[order])
    sizes = np.bincount(whose, minlength=1)[whose[order]] if len(whose) else np.zeros(0, dtype=int)
    step = 1 + (coins.uniform(len(whose)) * np.maximum(sizes - 1, 1)).astype(int)
    other = starts + (np.arange(len(order)) - starts + step) % np.maximum(sizes, 1)
    found = np.empty(len(whose), dtype=int)
    found[order] = np.where(sizes > 1, order[np.minimum(other, len(order) - 1)], -1)
    return found


def _same_names(first: pd.Series[Any], second: pd.Series[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of both columns' names, the same for the same name; -1 where there is none."""
    both = numbered(np.concatenate([identities(first), identities(second)]))
    return both[: len(first)], both[len(first) :]
