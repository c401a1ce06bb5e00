"""Fit a model to published answers: no rows are read, and no privacy is claimed beyond the publishers'."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sdv_plausible.extensions.published_counts.stated_counts import LEDGER_ENTRY, StatedCounts
from sdv_plausible.fitting.arguments import FitArguments
from sdv_plausible.fitting.fit_source import release_schema
from sdv_plausible.mechanism.drawing.released_prefixes import ReleasedSeeds
from sdv_plausible.privacy.accounting.losses import InfiniteLoss
from sdv_plausible.privacy.entries import MODEL_PARTS, LedgerEntry
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import Refused, listed
from sdv_plausible.queries.transcript import ALL_ROWS, NoisyAnswer
from sdv_plausible.release.file.answers_section import AnswersSection
from sdv_plausible.release.file.release import Release
from sdv_plausible.release.file.settings_section import release_settings, versions_of
from sdv_plausible.release.multiple_synthesis import Refitter
from sdv_plausible.rules.rules_and_declarations import rule_entries
from sdv_plausible.table.columns.domain import MAX_BINS, Attribute, Domain
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.declared.specifications import check_table_name
from sdv_plausible.table.domain_building import domain_entries

NOTE = "it is made from answers whose privacy is stated by their makers, and none is claimed beyond that"


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
    """Fit a release to published answers: noisy counts of any source. No rows are read.

    Parameters
    ----------
    answers : StatedCounts, Release, or sequence of these
        Counts over one or more columns. They may overlap and contradict each other: tables over the same
        columns are averaged by inverse variance, duplicates count once, and the learner makes all of them
        consistent. Every column must be in at least one of them. For a :class:`~sdv_plausible.Release`, its
        answers are used.
    domain : path, mapping or Domain
        Declares the values of every column, as for :func:`~sdv_plausible.fit_source`.
    rules : sequence of rules or path
        As for ``fit_source``. Columns that rules compute are not in any answer.
    model : "bayesian_network" or AdaptiveNetwork
        The learner; its ``max_cost`` and ``simulation_seed`` apply.
    max_bins, locales, table_name
        As for ``fit_source``.

    Returns
    -------
    Release
        It samples, gives margins with intervals that account for each answer's noise, and can be saved. Its
        ledger makes no privacy claim and quotes the publishers' statements.

    Raises
    ------
    ValueError
        If answers do not fit the domain or leave out a column, or a parameter is invalid.

    Warns
    -----
    UserWarning
        If totals contradict each other by more than their noise.

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
    fit = arguments.read({name: t.words for name, t in types.items()}, rules=rules, max_bins=max_bins)
    declared_domain = _declared_domain(fit.declared, [*fit.specs])
    if fit.rules:
        from sdv_plausible.rules.structural_zeros import possible_pairs

        declared_domain = replace(declared_domain, possible=possible_pairs(fit.rules, declared_domain))
    encoded, makers = _collect_answers(answers, declared_domain)
    ledger = settings.empty_ledger()
    ledger.charge(
        *arguments.reused_domain.entries, *domain_entries(declared_domain, fit.declared),
        *rule_entries(fit.rules),
        LedgerEntry(
            name=LEDGER_ENTRY, mechanism="; ".join(makers), losses=(InfiniteLoss(),), scope="everything",
            note=NOTE, parts=MODEL_PARTS,
        ),
    )  # fmt: skip
    fitted = fit.rules.fitted(declared_domain)
    return Release(
        schema=release_schema(types, fitted.whole(declared_domain), table_name), domain=declared_domain,
        rules=fitted,
        model=learner.refit(encoded, declared_domain, KeyedRNG.from_os_entropy()), seeds=ReleasedSeeds.none(),
        answers=AnswersSection(tuple(encoded), declared_domain.names), ledger=ledger,
        settings=release_settings(
            settings, model, (), max_bins=max_bins, types="declared", locales=arguments.locales,
            enforce_min_max_values=True, enforce_rounding=True, undeclared="private", returns_tables=False,
        ),
        versions=versions_of(),
    )  # fmt: skip


def _declared_domain(declared: Any, names: Sequence[str]) -> Domain:
    """Domain of the declarations; every value set must be declared."""
    attributes = {name: declared.known(name) for name in names}
    if not attributes:
        raise Refused.saying(
            "domain", "domain declares no column that is modelled: try {'age': {'sdtype': 'numerical'}}"
        )
    if open_ := [name for name, attribute in attributes.items() if attribute is None]:
        raise Refused.saying(
            "domain",
            f"domain must fix the values of {listed(open_)}: no row is there to learn them from; give "
            "range_values, or range_min and range_max",
        )
    return Domain(tuple(attributes.values()))


def _collect_answers(answers: Any, domain: Domain) -> tuple[list[NoisyAnswer], list[str]]:
    """Encode all answers in the domain, without duplicates, and collect the publishers' statements."""
    encoded: list[NoisyAnswer] = []
    makers: dict[str, None] = {}
    sources = [answers] if isinstance(answers, (StatedCounts, Release)) else answers
    if not isinstance(sources, Sequence) or isinstance(sources, str) or not sources:
        raise Refused("answers", type(sources), "must be StatedCounts, a Release, or a list of them")
    for source in sources:
        if isinstance(source, StatedCounts):
            new = [source.answer(domain)]
            makers[source.words] = None
        elif isinstance(source, Release):
            new = _answers_of_release(source, domain)
            total = source.ledger.words.total or "states no privacy"
            makers[f"release of table {source.schema.table!r}: {total.rstrip('.')}"] = None
        else:
            raise Refused("answers", type(source), "must hold StatedCounts and Releases alone")
        encoded += [answer for answer in new if not any(_is_same(answer, other) for other in encoded)]
    return encoded, [*makers]


def _is_same(first: NoisyAnswer, second: NoisyAnswer) -> bool:
    """Whether two answers are identical; using a duplicate would halve the variance."""
    tables = [
        [[(x.column, x.buckets.tolist()) for x in axes] for axes in a.asked.tables] for a in (first, second)
    ]
    return (
        (first.asked.kind, first.noise) == (second.asked.kind, second.noise)
        and np.array_equal(first.values, second.values)
        and np.array_equal(first.scales, second.scales)
        and tables[0] == tables[1]
    )


def _values(attribute: Attribute) -> tuple[object, ...]:
    """Everything that defines the meaning of an attribute's codes."""
    return attribute.values, attribute.lower, attribute.upper, attribute.nullable


def _answers_of_release(release: Release, domain: Domain) -> list[NoisyAnswer]:
    """Answers of a release on codes of all rows, for a domain that may have more columns."""
    different = [
        a.name for a in release.domain if a.name not in domain or _values(a) != _values(domain[a.name])
    ]
    if different:
        raise Refused.saying(
            "domain",
            f"domain must hold {listed(different)} as the release does: its answers are about these codes "
            "(domain=release.domain)",
        )
    positions = [domain.names.index(name) for name in release.domain.names]
    return [
        replace(
            a, paid_by=(LEDGER_ENTRY,),
            asked=replace(
                a.asked,
                tables=tuple(
                    tuple(replace(x, column=positions[x.column]) for x in axes) for axes in a.asked.tables
                ),
            ),
        )
        for a in release.answers
        if a.asked.tables and a.rows == ALL_ROWS
    ]  # fmt: skip
