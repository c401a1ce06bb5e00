"""The second reading's totals are those of the program, though no line of code and no method is shared."""

import math
from typing import Any

import numpy as np
import pytest

from sdv_plausible.extensions.verify.independent import file_reader, totals, verdict
from sdv_plausible.extensions.verify.independent.content_checks import margin
from sdv_plausible.extensions.verify.independent.ledger_checks import TOLERANCE, _stands_for
from sdv_plausible.privacy.accounting.composition import RandomSplit, compose
from sdv_plausible.privacy.accounting.gaussian import discrete_gaussian_mu
from sdv_plausible.privacy.accounting.release_loss import release_margin
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.release.file import ledger_section
from sdv_plausible.release.file.ledger_section import LOSSES


def loss(kind: str, **numbers: float) -> dict[str, Any]:
    return {"type": kind, **numbers}


def gaussian(ratio: float, count: int = 1) -> dict[str, Any]:
    return loss("GaussianLoss", sensitivity_over_sigma=ratio, count=count)


FAILURES = loss("ApproxDP", epsilon=0.0, delta=5e-11, count=2)
KINDS: dict[str, list[dict[str, Any]]] = {
    "nothing": [], "noise": [gaussian(0.18)],
    "noise and failures": [gaussian(0.053, 9), gaussian(0.08), FAILURES],
    "little noise": [gaussian(1.6, 4)], "hardly any noise": [gaussian(5.0)], "much noise": [gaussian(0.001, 1000)],
    "pure": [loss("PureDP", epsilon=0.1, count=50)],
    "as printed": [
        loss("DiscreteLaplaceLoss", epsilon=0.05, count=1, sensitivity=1),
        loss("PureDP", epsilon=0.003, count=90),
        loss("DiscreteLaplaceLoss", epsilon=0.1, count=9, sensitivity=1),
    ],
    "several steps": [loss("DiscreteLaplaceLoss", epsilon=0.6, count=4, sensitivity=3)],
    "choices": [loss("BoundedRangeLoss", epsilon=0.3, count=20)],
    "choices and noise": [loss("BoundedRangeLoss", epsilon=0.1, count=8), gaussian(0.15), FAILURES],
    "sizes": [loss("ReleaseLoss", epsilon0=1.0, delta=5e-10, l1=1)],
    "sizes and noise": [loss("ReleaseLoss", epsilon0=2.0, delta=5e-10, l1=1), gaussian(0.18)],
    "sizes of people": [loss("ReleaseLoss", epsilon0=1.0, delta=5e-10, l1=3), gaussian(0.18)],
    "sizes of people with many rows": [loss("ReleaseLoss", epsilon0=1.0, delta=5e-10, l1=100_000), gaussian(0.18)],
    "samples": [gaussian(0.05, 9), loss("SampledGaussianLoss", rate=0.5, sensitivity_over_sigma=0.3, count=3)],
    "many samples": [loss("SampledGaussianLoss", rate=0.125, sensitivity_over_sigma=0.38, count=128)],
    "samples and sizes": [
        loss("SampledGaussianLoss", rate=0.5, sensitivity_over_sigma=0.3, count=3),
        loss("ReleaseLoss", epsilon0=1.0, delta=5e-10, l1=1),
    ],
    "pairs": [loss("ApproxDP", epsilon=0.4, delta=1e-10, count=3), gaussian(0.1)],
    "a large one": [loss("PureDP", epsilon=60.0, count=1), gaussian(0.1)],
    "rho": [loss("ZCDP", rho=0.01)], "no end": [gaussian(0.1), loss("InfiniteLoss")],
}  # fmt: skip


def of_program(losses: list[dict[str, Any]]) -> list[Any]:
    return [LOSSES[one["type"]](**{name: n for name, n in one.items() if name != "type"}) for one in losses]


def test_every_kind_of_loss_has_a_case():
    """Control: the kinds that files may hold."""
    assert {one["type"] for losses in KINDS.values() for one in losses} == {*LOSSES}


@pytest.mark.parametrize("delta", [1e-9, 1e-5])
@pytest.mark.parametrize("kind", KINDS)
def test_totals_agree(kind, delta):
    """Closer than a verdict asks for: it then never hangs on the machine."""
    theirs, ours = compose(of_program(KINDS[kind]), delta), totals.total(KINDS[kind], delta)
    assert ours <= theirs * (1 + TOLERANCE / 3) + 1e-9
    assert theirs <= ours * (1 + TOLERANCE / 2) + 1e-9  # its grid moves the end of a loss up


def sizes(epsilon: float, delta: float, l1: int) -> dict[str, Any]:
    return loss("ReleaseLoss", epsilon0=epsilon, delta=delta, l1=l1)


def assert_honest(losses: list[dict[str, Any]], delta: float) -> None:
    """What ``check_total`` asks of a total that the program states."""
    theirs, ours = compose(of_program(losses), delta), totals.total(losses, delta)
    assert ours * (1 - TOLERANCE) - 1e-9 <= theirs, (losses, delta)
    charged, step = totals.accounting_slack(losses)
    if delta > 2 * charged:
        most = totals.total(losses, delta - charged) + step
        assert theirs <= most * (1 + TOLERANCE) + 1e-9, (losses, delta)


HONEST: dict[str, tuple[list[dict[str, Any]], float]] = {
    "large sizes beside little noise": ([sizes(10.0, 5e-10, 2), gaussian(0.05)], 1e-9),
    "sizes of people beside little noise": ([sizes(1.0, 5e-10, 4), gaussian(0.0196)], 1e-9),
    "large sizes of people beside little noise": ([sizes(5.0, 5e-10, 5), gaussian(0.01944)], 1e-9),
    "pure beside little noise": ([loss("PureDP", epsilon=1.0, count=1), gaussian(0.005)], 1e-9),
    "pure beside hardly any noise": ([loss("PureDP", epsilon=1.0, count=1), gaussian(0.0005)], 1e-9),
    "a group shows more than the sizes": ([sizes(0.005, 0.021, 1), gaussian(0.05)], 0.042),
    "a group shows far more than the sizes": ([sizes(0.025, 0.7, 1), gaussian(0.2)], 0.8),
    "losses beyond all exponents": ([sizes(1000.0, 0.05, 1)], 0.1),
    "losses of people beyond all exponents": ([sizes(1000.0, 5e-10, 3)], 1e-9),
    "nothing is left": ([loss("DiscreteLaplaceLoss", epsilon=0.05, count=1, sensitivity=7)], 0.11),
    "many uses": ([loss("DiscreteLaplaceLoss", epsilon=0.01, count=20_000, sensitivity=1)], 1e-10),
    "many uses, little delta": ([loss("DiscreteLaplaceLoss", epsilon=0.05, count=3000, sensitivity=7)], 1e-12),
    "a large loss beside many small ones": (
        [sizes(5.0, 5e-10, 5), loss("PureDP", epsilon=0.003, count=400), gaussian(0.005)], 1e-9),
}  # fmt: skip


def test_honest_totals_are_none_that_verify_refuses():
    """A group that always shows has no total."""
    for losses, delta in HONEST.values():
        assert_honest(losses, delta)
        assert totals.total(losses, delta) >= 0
    for l1 in (1, 3):
        assert math.isinf(totals.total([sizes(0.025, 1.0, l1), gaussian(0.2)], 0.5))


def test_few_losses_are_summed_without_a_grid():
    """The closed form of one use of a pure loss next to Gaussian noise, by hand."""
    epsilon, mu, delta = 10.0, 0.02, 1e-9
    ours = totals.total([loss("PureDP", epsilon=epsilon, count=1), gaussian(mu)], delta)
    top = 1 / (1 + math.exp(-epsilon))
    noise = totals.discrete_mu(1 / mu)
    at = [top * float(totals.gaussian_delta(noise, np.array(e - epsilon))) for e in (ours, ours + 1e-5)]
    assert at[0] == pytest.approx(delta, rel=1e-6)
    assert at[1] < delta * 0.999


def test_a_step_more_is_allowed_of_the_program_s_grid_alone():
    """Nothing beside Gaussian noise, which has no grid there; little where there are many uses."""
    assert totals.accounting_slack([gaussian(1.0)]) == (totals.NUMERICAL, 0.0)
    charged, step = totals.accounting_slack([loss("PureDP", epsilon=0.01, count=10_000)])
    assert charged == 10_001 * totals.NUMERICAL_PER_USE
    assert 0 < step < 2.1e-5


def test_random_ledgers_have_the_program_s_total():
    """In both directions. Control: with three times the pure losses the totals are apart."""
    rng, apart = np.random.default_rng(6), 0
    for _ in range(11):
        epsilon, delta = float(rng.choice([0.03, 0.3, 1.0, 3.0, 10.0])), float(10 ** -rng.uniform(0.5, 12))
        failure, l1 = delta * float(rng.choice([0.1, 0.5])), int(rng.choice([1, 1, 2, 5]))
        pure, uses = float(rng.choice([0.003, 0.05])) * epsilon, int(rng.choice([1, 90]))
        losses = [
            sizes(epsilon, failure, l1),
            loss("ApproxDP", epsilon=0.0, delta=delta / 20, count=2),
            loss("PureDP", epsilon=pure, count=uses),
            gaussian(epsilon * float(rng.choice([0.001, 0.02, 0.1])), int(rng.choice([1, 4]))),
        ]
        kept = [one for one in losses if rng.random() < 0.75]
        if kept:
            assert_honest(kept, delta)
            more = [{**one, "count": one["count"] * 2} for one in kept if one["type"] == "PureDP"]
            apart += totals.total([*kept, *more], delta) > compose(of_program(kept), delta) * (1 + TOLERANCE)
    assert apart > 3


def test_many_uses_are_never_below_the_truth():
    """Reference: the transform of an exponentially tilted loss, whose rounding is relative."""
    epsilon, s, uses, delta = 0.14146185086333715, 30, 1290, 3e-12
    rate, atoms = epsilon / s, totals.laplace_loss(epsilon, s)
    at, tilt, size = np.rint(atoms.values / rate).astype(int), 0.8, 1 << 18
    tilted = atoms.masses * np.exp(tilt * atoms.values)
    log_sum = math.log(tilted.sum())
    masses = np.fft.irfft(np.fft.rfft(np.bincount(at % size, tilted / tilted.sum(), size)) ** uses, size)
    losses = np.fft.fftfreq(size, 1 / size) * rate

    def delta_at(total):
        above = (losses > total) & (masses > 1e-15)
        left = masses[above] * np.exp(uses * log_sum - tilt * losses[above])
        return float(left @ -np.expm1(total - losses[above]))

    ours = totals.total([loss("DiscreteLaplaceLoss", epsilon=epsilon, count=uses, sensitivity=s)], delta)
    assert delta_at(ours) <= delta * 1.001 < delta_at(ours * 0.99)


def test_what_the_program_charges_for_rounding_is_within_what_is_allowed():
    """At a delta where it shows. Control: without the allowance the totals are apart."""
    losses = KINDS["choices"]
    theirs = compose(of_program(losses), 1e-12)
    assert totals.total(losses, 1e-12) < theirs * (1 - TOLERANCE)
    assert theirs <= totals.total(losses, 1e-12 - totals.NUMERICAL)


def test_another_loss_has_another_total():
    """The planted difference: one use more, or a tenth less noise."""
    first, *others = KINDS["noise and failures"]
    for change in ({"count": 10}, {"sensitivity_over_sigma": 0.06}):
        assert totals.total([{**first, **change}, *others], 1e-9) > totals.total([first, *others], 1e-9) * (
            1 + 10 * TOLERANCE
        )


def test_a_split_is_amplified_alike():
    parts = {"structure": [gaussian(0.1, 3)], "parameters": [gaussian(0.2)], "seeds": []}
    for common in ([], [gaussian(0.05)]):
        split = RandomSplit.of((0.25, 0.25, 0.5), apart=True)
        told = [((name,), of_program(losses)) for name, losses in parts.items()]
        theirs = split.total([*told, ((), of_program(common))], 1e-9)
        ours = totals.split_total(
            [(0.25, parts["structure"]), (0.25, parts["parameters"]), (0.5, [])], common, 1e-9
        )
        assert ours == pytest.approx(theirs, rel=TOLERANCE / 3)


def test_an_envelope_of_several_failures_does_not_stand_for_one_of_their_sum():
    """Several compose to less than their sum. Control: one stands for several, and for itself."""
    one, two = ([loss("ApproxDP", epsilon=0.0, delta=0.2 / n, count=n)] for n in (1, 2))
    assert _stands_for([*one, gaussian(0.1)], [*two, gaussian(0.1)])
    assert _stands_for([*two, gaussian(0.1)], [*two, gaussian(0.1)])
    assert not _stands_for([*two, gaussian(0.1)], [*one, gaussian(0.1)])


def test_rho_beside_other_losses_has_no_total():
    with pytest.raises(verdict.UncheckableError, match="no total here"):
        totals.total([*KINDS["rho"], gaussian(0.1)], 1e-9)


def test_the_dominating_noise_is_the_same():
    for sigma in (0.3, 0.9, 2.5, 6.0, 33.3, 800.0, 30_000.0):
        assert totals.discrete_mu(sigma) == pytest.approx(discrete_gaussian_mu(sigma), rel=1e-7)


def test_atoms_are_distributions_both_ways():
    """Masses sum to what does not fail, and reversed to at most 1."""
    for atoms in (
        totals.laplace_loss(0.7, 1), totals.laplace_loss(2.0, 4), totals.bounded_range_loss(0.8), totals.sampled_gaussian_loss(0.2, 0.5),
        totals.release_loss(1.0, 1e-3, 1), totals.release_loss(1.0, 1e-3, 4),
    ):  # fmt: skip
        assert atoms.masses.sum() + atoms.failure == pytest.approx(1, abs=1e-12)
        back = atoms.reverse()
        assert (back.masses @ np.exp(-back.values)) <= 1 + 1e-9
        assert (atoms.masses @ np.exp(-atoms.values)) <= 1 + 1e-6


def test_units_margins_and_rounding_are_the_program_s():
    for rows, replace in ((1, False), (3, False), (1, True), (4, True)):
        theirs = Neighbours(rows=rows, replace=replace, person="p")
        ours = verdict.ProtectedUnit(rows, replace, "p")
        assert (ours.l1, ours.l2) == (theirs.histogram_l1, theirs.histogram_l2)
        for delta in (1e-12, 5e-10, 1e-3):
            assert margin(0.7, delta, ours) == release_margin(0.7, delta, theirs)
    for figure in (0.9994, 1.0, 1e-9, 2.718281828, 12345.0, math.pi * 1e-5):
        assert verdict.rounded_up(figure) == rounded_up(figure)


def test_equal_losses_are_one_kind():
    """In one entry or in several they cost the same. Control: one use more costs more."""
    one, apart = loss("PureDP", epsilon=0.1, count=50), [loss("PureDP", epsilon=0.1, count=1)] * 50
    assert totals.total(apart, 1e-9) == totals.total([one], 1e-9) < totals.total([one, *apart[:1]], 1e-9)
    assert len(totals.GroupedLosses.of(apart).others) == 1


def test_a_power_is_taken_by_squares():
    factor = np.exp(1j * np.linspace(0, 3, 9)) * np.linspace(0, 1, 9)
    for power in (1, 2, 7, 100):
        product = np.full(9, 2.0 + 0j)
        totals._multiply_by_power(product, factor.copy(), power)
        assert product == pytest.approx(2 * factor**power, abs=1e-13)


def test_many_kinds_of_many_uses_have_the_program_s_total():
    """Twenty kinds of ten thousand uses, beside Gaussian noise: the program charges 4 % of delta for rounding."""
    losses = [loss("PureDP", epsilon=0.001 + i * 1e-5, count=10_000) for i in range(20)]
    for more in ([], [gaussian(0.18, 30)]):
        theirs = compose(of_program([*losses, *more]), 1e-9)
        assert totals.total([*losses, *more], 1e-9) == pytest.approx(theirs, rel=2e-3)


def test_limits_are_the_program_s():
    """A file that one of both readers takes is none that the other refuses for its length."""
    for name in ("MOST_LOSSES", "MOST_KINDS", "MOST_SQUARES", "MOST_SIGMAS", "LEAST_SIGMA", "LARGE_SIGMA"):
        assert getattr(file_reader, name) == getattr(ledger_section, name), name
    assert file_reader.MOST_USES == ledger_section.MOST_OTHERS
