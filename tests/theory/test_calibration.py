"""Calibration of the randomised test: targets are met, and unreachable ones say how near one comes."""

import pytest

from theory.calibration import NotReachableError, calibrate, max_rows
from theory.fixed_omega import fixed_omega_loss
from theory.row_by_row import row_by_row_loss


def test_a_small_call_is_calibrated():
    common = {"delta": 1e-3, "num_rows": 40, "n_lower": 20_000, "pass_rate_floor": 0.4}
    found = calibrate(epsilon=2.0, k=12, **common)
    assert found.k == 12
    assert 1.9 < found.epsilon <= 2.0
    assert found.epsilon == pytest.approx(row_by_row_loss(k=12, epsilon0=found.epsilon0, **common).epsilon)
    sharper = row_by_row_loss(k=12, epsilon0=1.1 * found.epsilon0, **common)
    assert sharper.epsilon > 2.0  # control: not much is left unused


def test_calibrated_parameters_meet_the_target():
    common = {"delta": 1e-6, "num_rows": 2000, "n_lower": 100_000, "pass_rate_floor": 0.4}
    found = calibrate(epsilon=2.0, **common)  # type: ignore[arg-type]
    again = row_by_row_loss(k=found.k, epsilon0=found.epsilon0, **common)  # type: ignore[arg-type]
    assert again.epsilon == pytest.approx(found.epsilon)
    assert 1.9 < found.epsilon <= 2.0
    given = calibrate(epsilon=2.0, k=2 * found.k, **common)  # type: ignore[arg-type]
    assert given.k == 2 * found.k
    assert given.epsilon <= 2.0
    by_construction = calibrate(epsilon=2.0, gamma=1.0, by_construction=True, **common)  # type: ignore[arg-type]
    assert by_construction.attempts is None
    assert by_construction.t is not None
    assert by_construction.epsilon <= 2.0


def test_unreachable_target_names_the_nearest():
    with pytest.raises(NotReachableError, match=r"not reachable: with n = 1,000 seeds, 5,000 rows") as caught:
        calibrate(epsilon=0.01, delta=1e-6, num_rows=5000, n_lower=1000, pass_rate_floor=0.5, max_k=60)
    assert caught.value.epsilon > 0.01
    assert caught.value.num_rows < 5000
    nearest = row_by_row_loss(
        num_rows=5000,
        k=caught.value.k,
        epsilon0=caught.value.epsilon0,
        delta=1e-6,
        pass_rate_floor=0.5,
        n_lower=1000,
    )
    assert nearest.epsilon == pytest.approx(caught.value.epsilon)


def test_max_rows_inverts_the_loss():
    def loss(rows):
        return fixed_omega_loss(
            num_rows=rows, k=50, epsilon0=1.0, delta=1e-6, pass_rate_floor=0.5, n_lower=735_000
        )

    most = max_rows(epsilon=7.6, delta=1e-6, loss=loss)
    assert loss(most) <= 7.6 < loss(most + 1)
    assert max_rows(epsilon=1e-6, delta=1e-6, loss=lambda rows: rows * 1.0) == 0
