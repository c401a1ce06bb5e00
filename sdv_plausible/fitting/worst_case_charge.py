"""The charge that covers every outcome of type inference (docs/explanation/proofs/type_votes.md)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from sdv_plausible.mechanism.privacy_tests.privacy_settings import Settings
from sdv_plausible.models.base import Learner, ModelBudget
from sdv_plausible.models.learner_checks import planned_entries
from sdv_plausible.privacy.accounting.composition import calibrate_gaussian, compose
from sdv_plausible.privacy.accounting.losses import ApproxDP, Loss, gaussian_noise
from sdv_plausible.privacy.accounting.privacy_filters import gaussian_cost
from sdv_plausible.privacy.entries import LedgerEntry, Part
from sdv_plausible.privacy.parameter_checks import Refused, listed
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.learned.private_domain import FAILURE_SHARE

EARLIER_SHARE = 0.5  # share of delta for a domain that an earlier fit learned


def worst_case_entry(
    s: Settings,
    learner: Learner,
    domains: Iterable[Domain],
    earlier: tuple[Loss, ...],
    vote: tuple[Loss, ...],
    parts: tuple[Part, ...],
) -> LedgerEntry:
    """Entry that covers domain and model for all ``domains``, next to earlier losses (Lemma 3)."""
    from sdv_plausible.fitting.options import TYPES_SHARE

    spent = (*earlier, *vote)
    if spent and math.isinf(compose(spent, s.model_delta)):
        raise delta_too_small(s)
    costs = _gaussian_costs(s, learner, domains)
    losses: tuple[Loss, ...] = ()
    if costs is None:
        losses = (_pair(s, earlier, spent),)
    else:
        thresholds = FAILURE_SHARE * (1 - TYPES_SHARE) * s.model_delta
        failures = [failure for failure in (thresholds, max(failure for _, failure in costs)) if failure]
        mu = calibrate_gaussian(s.epsilon, s.model_delta - math.fsum(failures), spent)
        losses = (*gaussian_noise(mu), *(ApproxDP(epsilon=0.0, delta=failure) for failure in failures))
    return LedgerEntry(
        name="learning",
        mechanism="upper bound on the cost of domain and model for all possible types; it includes their "
        "lines",
        losses=losses,
        scope="domain and model" if "domain" in parts else "the model",
        parts=parts,
        envelope=True,
    )


def _trial(s: Settings, learner: Learner, domain: Domain) -> list[Loss]:
    """Losses that a learner plans for a domain with the whole budget."""
    trial = ModelBudget(epsilon=s.epsilon, delta=s.model_delta, neighbours=s.neighbours)
    return [loss for entry in planned_entries(learner, domain, trial) for loss in entry.losses]


_FORMS: list[dict[str, Any]] = [
    {"provenance": "private", **parts}
    for codes in (2, 3, 9, 65, 101, 1025)
    for points in [tuple(range(codes))]
    for parts in (
        {"kind": "categorical", "values": points},
        {"kind": "ordinal", "values": points},
        {"kind": "integer", "lower": points, "upper": points},
        {"kind": "float", "lower": points, "upper": points, "decimals": 2},
        {"kind": "datetime", "lower": points, "upper": points, "datetime_format": "%Y-%m-%d"},
    )
]


def possible_domains(domain: Domain) -> Iterator[Domain]:
    """Possible learned domains for a check of the learner: all columns alike, mixed, and one large."""
    forms, size, last = range(len(_FORMS)), len(domain), len(domain) - 1
    small, large = forms[0], forms[-5]
    for columns in (
        *([form] * size for form in forms),
        *([forms[(start + 7 * i) % len(forms)] for i in range(size)] for start in (0, 11, 22)),
        *([large if i == one else small for i in range(size)] for one in (0, last)),
    ):
        yield Domain(
            tuple(
                _possible_attribute(a.name, form) if a.provenance == "private" else a
                for a, form in zip(domain, columns, strict=True)
            )
        )


@lru_cache(maxsize=4096)  # a fit asks for the same ones several times, and checking 1,025 values takes long
def _possible_attribute(name: str, form: int) -> Attribute:
    return Attribute(name=name, **_FORMS[form])


def check_uniform_cost(s: Settings, learner: Learner, domain: Domain) -> None:
    """Reject a learner whose kind of cost depends on the number of columns, which an earlier fit inferred."""
    arcs = learner.arcs or {}
    named = {*arcs, *(parent for parents in arcs.values() for parent in parents)}
    declared = Domain(tuple(a for a in domain if a.provenance != "private" or a.name in named))
    domains = [padded_domain(declared, n) for n in (*range(3, 13), 17, 33, 65)]
    costs = [gaussian_cost(_trial(s, learner, one)) for one in (padded_domain(domain), *domains)]
    if len({None if cost is None else cost[1] for cost in costs}) > 1:
        raise Refused.saying(
            "model",
            f"model ({type(learner).__name__}) plans different noise or failure probabilities for few and "
            "for many columns, but the number of columns depends on type inference. Declare all types, or "
            "use the same plan for three columns or more",
        )


def _gaussian_costs(
    s: Settings, learner: Learner, domains: Iterable[Domain]
) -> list[tuple[float, float]] | None:
    """Squared noise parameters and failure probabilities by domain; None unless all noise is Gaussian."""
    costs = [gaussian_cost(_trial(s, learner, domain)) for domain in domains]
    gaussian = [cost for cost in costs if cost is not None]
    return gaussian if len(gaussian) == len(costs) else None


def padded_domain(domain: Domain, columns: int = 3) -> Domain:
    """The domain padded to a number of columns; three are enough for queries of pairs."""
    names = [f"more {i}" for i in range(len(domain), columns)]
    return Domain((*domain, *map(Attribute.unknown, names)))


def open_after_inference(names: Sequence[str]) -> Refused:
    """Error: columns that earlier type inference left open can be neither inferred nor learned."""
    return Refused.saying(
        "domain",
        f"domain: {listed(names)} are undeclared, and which columns an earlier type inference left "
        "undeclared depends on the rows. So would their cost, and the total would be no bound. Declare "
        f'their values or types with the learned domain: {{"{names[0]}": {{"sdtype": "id"}}}}, or start '
        "without the learned domain",
    )


def delta_too_small(s: Settings) -> Refused:
    """Error: the domain was learned at a larger delta."""
    return Refused.saying(
        "delta",
        f"delta ({s.delta:g}) is smaller than the delta with which the domain was learned: use that delta, "
        "or learn the domain again",
    )


def _pair(s: Settings, earlier: tuple[Loss, ...], spent: tuple[Loss, ...]) -> ApproxDP:
    """Epsilon and delta left by basic composition; half of delta after a domain learned earlier."""
    from sdv_plausible.fitting.options import TYPES_SHARE

    if not earlier:  # the complement of the share for type inference
        return ApproxDP(epsilon=(1 - TYPES_SHARE) * s.epsilon, delta=(1 - TYPES_SHARE) * s.model_delta)
    share = 1 - EARLIER_SHARE
    epsilon = s.epsilon - compose(spent, EARLIER_SHARE * s.model_delta)
    if math.isinf(epsilon):
        raise delta_too_small(s)
    if not epsilon > 0:
        raise Refused.saying(
            "epsilon",
            f"epsilon ({s.epsilon!r}) is used up by the learned domain or by type inference: raise it",
        )
    return ApproxDP(epsilon=epsilon, delta=share * s.model_delta)
