"""Fit answers that others made: no row is asked, and nothing is claimed beyond what their makers state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sdv_plausible.extensions.published_counts.stated_counts import PAID, StatedCounts
from sdv_plausible.fitting.arguments import FitArguments
from sdv_plausible.fitting.fit_source import schema_of
from sdv_plausible.mechanism.drawing.released_prefixes import ReleasedSeeds
from sdv_plausible.privacy.accounting.losses import InfiniteLoss
from sdv_plausible.privacy.entries import WHOLE_MODEL, LedgerEntry
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import Refused, listed
from sdv_plausible.queries.transcript import ALL_ROWS, NoisyAnswer
from sdv_plausible.release.file.answers_section import AnswersSection
from sdv_plausible.release.file.release import Release
from sdv_plausible.release.file.settings_section import said, versions_of
from sdv_plausible.release.multiple_synthesis import Refitter
from sdv_plausible.rules.rules_and_declarations import rule_entries
from sdv_plausible.table.columns.domain import MAX_BINS, Attribute, Domain
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.declared.spec_words import check_table_name
from sdv_plausible.table.domain_building import domain_entries

STATED = "it is made from answers whose privacy is stated by their makers, and none is claimed beyond that"


def fit_answers(
    answers: Any,
    domain: Any,
    *,
    rules: Any = (),
    model: Any = "bayesian_network",
    max_bins: int = MAX_BINS,
    locales: Sequence[str] = ("en_US",),
    table_name: str = "table",
) -> Release:
    """Make a release of answers that others made: counts with noise, of any source. No row is asked.

    Parameters
    ----------
    answers : StatedCounts, Release, or sequence of these
        Counts over one or more columns. They may overlap and contradict one another: tables over the same
        columns are averaged by inverse variance, one given twice counts once, and all are made consistent by
        the default learner. Each column is in one of them, at least. Of a :class:`~sdv_plausible.Release` its
        own answers are used.
    domain : path, mapping or Domain
        What each column may hold, as for :func:`~sdv_plausible.fit_source`; every value set is declared.
    rules : sequence of rules or path
        As there. Columns that rules make are in no answer.
    model : "bayesian_network" or AdaptiveNetwork
        The learner: its ``max_cost`` and ``simulation_seed`` count.
    max_bins, locales, table_name
        As there.

    Returns
    -------
    Release
        It samples, gives margins with intervals that know each answer's noise, and can be saved. Its ledger
        claims nothing, and names what the makers state.

    Raises
    ------
    ValueError
        If answers are not about the domain, lack a column, or a parameter cannot be.

    Warns
    -----
    UserWarning
        If totals contradict one another by more than their noise.

    Examples
    --------
    >>> import pandas as pd
    >>> from sdv_plausible import StatedCounts, fit_answers
    >>> table = pd.DataFrame({"sex": ["f", "m"], "count": [510, 488]})
    >>> counts = StatedCounts(table=table, scale=20.0, source="OpenDP", privacy="rho 0.00125")
    >>> release = fit_answers(counts, {"sex": {"range_values": ["f", "m"]}})
    >>> release.margins("sex")["lower"].tolist()
    [470.0, 448.0]
    """
    check_table_name(table_name)
    arguments = FitArguments.of(
        None, domain, epsilon=math.inf, delta=1e-9, model=model, test="release", types="declared",
        person=None, neighbours="add_remove", budget=None, locales=locales, random_state=None,
    )  # fmt: skip
    settings, learner = arguments.settings, arguments.learner
    if not isinstance(learner, Refitter):
        raise Refused("model", model, "must be one that learns from answers alone", 'try "bayesian_network"')
    types = column_types(arguments.domain)
    fit = arguments.read({n: one.words for n, one in types.items()}, rules=rules, max_bins=max_bins)
    found = _declared(fit.declared, [*fit.specs])
    if fit.rules:
        from sdv_plausible.rules.structural_zeros import possible_pairs  # which knows every kind of rule

        found = replace(found, possible=possible_pairs(fit.rules, found))
    told, makers = _told(answers, found)
    ledger = settings.empty_ledger()
    ledger.charge(
        *arguments.earlier.entries, *domain_entries(found, fit.declared), *rule_entries(fit.rules),
        LedgerEntry(
            name=PAID, mechanism="; ".join(makers), losses=(InfiniteLoss(),), scope="everything",
            note=STATED, parts=WHOLE_MODEL,
        ),
    )  # fmt: skip
    fitted = fit.rules.fitted(found)
    return Release(
        schema=schema_of(types, fitted.whole(found), table_name), domain=found, rules=fitted,
        model=learner.refit(told, found, KeyedRNG.from_os_entropy()), seeds=ReleasedSeeds.none(),
        answers=AnswersSection(tuple(told), found.names), ledger=ledger,
        settings=said(
            settings, model, (), max_bins=max_bins, types="declared", locales=arguments.locales,
            enforce_min_max_values=True, enforce_rounding=True, undeclared="private", returns_tables=False,
        ),
        versions=versions_of(),
    )  # fmt: skip


def _declared(declared: Any, names: Sequence[str]) -> Domain:
    """The domain, of which every value set is known."""
    known = {name: declared.known(name) for name in names}
    if not known:
        raise Refused.saying(
            "domain", "domain declares no column that is modelled: try {'age': {'sdtype': 'numerical'}}"
        )
    if open_ := [name for name, one in known.items() if one is None]:
        raise Refused.saying(
            "domain",
            f"domain must fix the values of {listed(open_)}: no row is there to learn them from; give "
            "range_values, or range_min and range_max",
        )
    return Domain(tuple(known.values()))


def _told(answers: Any, domain: Domain) -> tuple[list[NoisyAnswer], list[str]]:
    """Answers about the domain, and what their makers state."""
    told: list[NoisyAnswer] = []
    makers: dict[str, None] = {}
    given = [answers] if isinstance(answers, (StatedCounts, Release)) else answers
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise Refused("answers", type(given), "must be StatedCounts, a Release, or a list of them")
    for one in given:
        if isinstance(one, StatedCounts):
            found = [one.answer(domain)]
            makers[one.words] = None
        elif isinstance(one, Release):
            found = _of_release(one, domain)
            total = one.ledger.words.total or "states no privacy"
            makers[f"release of table {one.schema.table!r}: {total.rstrip('.')}"] = None
        else:
            raise Refused("answers", type(one), "must hold StatedCounts and Releases alone")
        told += [answer for answer in found if not any(_is_same(answer, other) for other in told)]
    return told, [*makers]


def _is_same(one: NoisyAnswer, other: NoisyAnswer) -> bool:
    """Whether two are one answer, given twice: the second says nothing new, and would halve the variance."""
    tables = [
        [[(x.column, x.buckets.tolist()) for x in axes] for axes in a.asked.tables] for a in (one, other)
    ]
    return (
        (one.asked.kind, one.noise) == (other.asked.kind, other.noise)
        and np.array_equal(one.values, other.values)
        and np.array_equal(one.scales, other.scales)
        and tables[0] == tables[1]
    )


def _values(attribute: Attribute) -> tuple[object, ...]:
    """What the codes stand for."""
    return attribute.values, attribute.lower, attribute.upper, attribute.nullable


def _of_release(release: Release, domain: Domain) -> list[NoisyAnswer]:
    """Its answers about codes, of all rows, about a domain that may have further columns."""
    odd = [a.name for a in release.domain if a.name not in domain or _values(a) != _values(domain[a.name])]
    if odd:
        raise Refused.saying(
            "domain",
            f"domain must hold {listed(odd)} as the release does: its answers are about these codes "
            "(domain=release.domain)",
        )
    place = [domain.names.index(name) for name in release.domain.names]
    return [
        replace(
            a, paid_by=(PAID,),
            asked=replace(
                a.asked,
                tables=tuple(
                    tuple(replace(x, column=place[x.column]) for x in axes) for axes in a.asked.tables
                ),
            ),
        )
        for a in release.answers
        if a.asked.tables and a.rows == ALL_ROWS
    ]  # fmt: skip
