"""Denoising of marginals and pair tables (post-processing)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from sdv_plausible.models.conditional_table import project_to_simplex

# "sd" is the standard deviation of the noise.
MANY_EMPTY = 1.0  # sd subtracted by the projection, from which most cells count as empty
OUTLIER = 3.0  # sd from which a cell of such a table is not noise
FAINT_END = 0.7  # sd up to which an end of a column is always cleared
FAR = 4.0  # sd from which a code far from the rest is not noise (at 3 sd, every eighth column would pass)
GAP = 1e-3  # weight of the last remaining code in its tail
TAIL = 1.0  # sd subtracted from the rows of a cleared end before they are restored
SIGNIFICANT_RUN = 2.0  # sd from which a run of codes of a far end remains
MAX_VARIANCE_BIAS = 0.05  # largest bias from an end's noise, as a share of the variance, that is acceptable
EMPTIED = 0.15  # sd below which a category counts as emptied by noise
MAX_CLEARED = 0.1  # largest share of a column's total in a cleared end
MAX_REVIVED = 0.0025  # largest share of a column's total that emptied categories get together
PRIOR_FACTORS = np.append(0.0, 2.0 ** np.arange(-4, 3))  # mixture means of a cell, relative to its prior
BOUND_FACTORS = 2.0 ** np.arange(-6, 1)  # mixture means, relative to the bound from its margins
RELATIVE_WIDTH = 0.35  # standard deviation of a mixture component, relative to its mean
STEPS, ROUNDS = 20, 5  # EM steps; rounds of matching the margins with structural zeros
EMPTY, EMPTY_RATIO = 0.4, 0.7  # sd, and ratio to independence, below which a cell counts as empty
SIGNIFICANT = 2.0  # standard errors between a mean product of scores and the prior's to tilt the prior
EVIDENCE = 3.0  # gain in log evidence required for the tilted prior
MAX_CORRELATION = 0.99  # largest mean product of scores of a tilted prior
TILT_STEPS, MAX_TILT = 12, 12.0  # secant steps, and the largest exponent per product of scores
TRACE = 0.005  # share of independence that empty cells keep: zeros of several tables may conflict


def haar_denoise(values: np.ndarray, sigma: float, threshold: float = 2.5, levels: int = 4) -> np.ndarray:
    """Denoise an ordered margin with translation-invariant Haar wavelets."""
    # Details within ``threshold * sigma`` are noise: smooth stretches are averaged, spikes remain (Coifman
    # and Donoho 1995).
    if len(values) < 8 or sigma == 0:
        return values
    size = 1 << int(np.ceil(np.log2(len(values))))
    mirrored = np.concatenate([values, values[::-1]])[:size]  # avoids an edge in the circular shifts
    return _cycle_spin(mirrored, threshold * sigma, levels)[: len(values)]


def _cycle_spin(a: np.ndarray, cut: float, level: int) -> np.ndarray:
    if level == 0 or len(a) < 2:
        return a
    out = np.zeros_like(a)
    for shift in (0, 1):
        b = np.roll(a, -shift)
        mean, detail = (b[0::2] + b[1::2]) / np.sqrt(2), (b[0::2] - b[1::2]) / np.sqrt(2)
        detail = np.where(np.abs(detail) > cut, detail, 0)
        mean = _cycle_spin(mean, cut, level - 1)
        back = np.empty_like(a)
        back[0::2], back[1::2] = (mean + detail) / np.sqrt(2), (mean - detail) / np.sqrt(2)
        out += np.roll(back, shift)
    return out / 2


def project_ordered(
    smooth: np.ndarray, noisy: np.ndarray, places: np.ndarray, sigma: float, total: float
) -> np.ndarray:
    """Project counts on the simplex, the first ones ordered at ``places``; clear ends that are noise."""
    # With a wide declared range, noise leaves mass at empty values at the ends, so far out that a little of
    # it biases the standard deviation. Ends are excluded before the projection, so that the other codes do
    # not pay for their noise. Mass that is significant over a whole end is restored as a decaying tail.
    k = len(places)
    remaining = np.ones(len(smooth), dtype=bool)
    remaining[:k] = _remaining_codes(project_to_simplex(smooth, total)[:k], noisy[:k], places, sigma)
    projected = np.zeros(len(smooth))
    projected[remaining] = project_to_simplex(smooth[remaining], total)
    if 0 < np.count_nonzero(remaining[:k]) < k and sigma:
        first, last = np.flatnonzero(remaining[:k])[[0, -1]]
        for direction, end in ((slice(None, None, -1), k - 1 - first), (slice(None), last)):
            _add_tail(projected[:k][direction], noisy[:k][direction], places[direction], int(end), sigma)
        projected[remaining] *= max(
            0.0, 1 - (projected.sum() - total) / max(projected[remaining].sum(), 1e-300)
        )
    return projected


def _add_tail(counts: np.ndarray, noisy: np.ndarray, places: np.ndarray, last: int, sigma: float) -> None:
    """Restore the significant mass of a cleared end, all codes after ``last``, in place."""
    # The mass is the sum of the noisy counts minus ``TAIL`` standard deviations. Its density starts at that
    # of the last remaining code and decays exponentially. If the next code is far away, the last one gets it.
    size = len(noisy) - 1 - last
    rows = noisy[last + 1 :].sum() - TAIL * sigma * math.sqrt(size)
    if rows <= 0 or last == 0:
        return
    spacing = abs(places[last] - places[last - 1])
    length = spacing * max(1.0, rows / max(counts[last], sigma))
    distance = np.abs(places[last:] - places[last])
    weights = np.exp(-np.minimum(distance / length, 700.0)) * np.append(GAP * spacing, np.diff(distance))
    counts[last:] += rows * weights / weights.sum()


def _remaining_codes(counts: np.ndarray, noisy: np.ndarray, places: np.ndarray, sigma: float) -> np.ndarray:
    """Return a mask of the codes that remain when both ends are cleared."""
    # An end of k codes is cleared while its cleaned counts sum to at most ``FAINT_END * sigma * sqrt(k)``.
    # Where noise of sigma * sqrt(k) would bias the variance by ``MAX_VARIANCE_BIAS`` or more, clearing
    # continues while the unbiased noisy counts sum to at most ``FAR`` times that and none is significant
    # alone. Of these codes, runs of 1, 2, 4, ... from inside out remain if their noisy counts exceed
    # ``SIGNIFICANT_RUN`` standard deviations. At most ``MAX_CLEARED`` of the total is cleared, because noise
    # may hide a whole table. Tuned on ages, hours, years of schooling, delays and diamonds, with ranges one
    # to six times too wide.
    noise = sigma * np.sqrt(np.arange(1, len(counts) + 1))
    most = MAX_CLEARED * counts.sum()
    faint = [
        int(np.argmax(np.cumsum(c) > np.minimum(FAINT_END * noise, most))) for c in _from_both_ends(counts)
    ]
    inner = counts.copy()
    inner[: faint[0]] = inner[len(counts) - faint[1] :] = 0.0
    weight = inner / max(inner.sum(), 1e-300)
    places = np.ldexp(places, -int(np.frexp(np.abs(places).max())[1]))  # avoids overflow of the squares
    squares = (places - weight @ places) ** 2
    acceptable = (
        MAX_VARIANCE_BIAS * float(weight @ squares) * counts.sum()
    )  # largest acceptable noise times squared distance
    remaining = np.ones(len(counts), dtype=bool)
    for mask, c, n, d, num_faint in zip(
        _from_both_ends(remaining),
        _from_both_ends(counts),
        _from_both_ends(noisy),
        _from_both_ends(squares),
        faint,
        strict=True,
    ):
        certain = (np.cumsum(n) > FAR * noise) | (n > FAR * sigma)
        last, size = int(np.argmax(certain | (noise * d < acceptable) | (np.cumsum(c) > most))), 1
        mask[:num_faint] = False
        while last > num_faint:
            first = max(last - size, num_faint)
            mask[first:last] = n[first:last].sum() > SIGNIFICANT_RUN * noise[last - first - 1]
            last, size = first, 2 * size
    return remaining


def _from_both_ends(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the array and its reverse, as views."""
    return values, values[::-1]


def project_sparse(counts: np.ndarray, sigma: float, total: float) -> np.ndarray:
    """Project unordered counts on the simplex, most of which may be empty."""
    # The projection subtracts the same amount from every cell to cancel the noise on empty cells. If nearly
    # all cells are empty (a few hundred airports among all codes), this removes most of the other counts.
    # Significant cells then keep their counts, and the others share the rest of the total.
    projected = project_to_simplex(counts, total)
    is_outlier = counts > OUTLIER * sigma
    rest = total - counts[is_outlier].sum()
    if (counts - projected).max() <= MANY_EMPTY * sigma or rest <= 0 or not is_outlier.any():
        return projected
    result = counts.astype(float)
    result[~is_outlier] = project_to_simplex(counts[~is_outlier], rest)
    return result


def keep_alive(counts: np.ndarray, sigma: float) -> np.ndarray:
    """Keep a small mass in declared categories that noise emptied."""
    # Each gets ``EMPTIED`` standard deviations of noise, all together at most ``MAX_REVIVED`` of the total.
    least = EMPTIED * sigma
    is_emptied = counts < least
    if not is_emptied.any():
        return counts
    least = min(least, MAX_REVIVED * counts.sum() / is_emptied.sum())
    revived = np.maximum(counts, least)
    return np.asarray(revived * (counts.sum() / revived.sum()))


def shrink_singular_values(residual: np.ndarray, sigma: float) -> np.ndarray:
    """Shrink singular values for white noise of known sigma (Gavish and Donoho 2017)."""
    # The dependence of two columns has nearly low rank, noise does not. Shrinkage for the operator norm keeps
    # its strength unbiased; for the Frobenius norm it would be attenuated.
    if sigma == 0:
        return residual
    short, long = sorted(residual.shape)
    u, s, v = np.linalg.svd(residual, full_matrices=False)
    beta, y = short / long, s / (sigma * np.sqrt(long))
    root = np.sqrt(np.maximum((y * y - beta - 1) ** 2 - 4 * beta, 0))
    unbiased = np.sqrt(np.maximum(y * y - beta - 1 + root, 0) / 2)
    y = np.where(y > 1 + np.sqrt(beta), unbiased, 0) * sigma * np.sqrt(long)
    return (u * y) @ v


def nearest_with_margins(
    table: np.ndarray, rows: np.ndarray, columns: np.ndarray, possible: np.ndarray
) -> np.ndarray:
    """Return the nearest table (least squares) with these margins and structural zeros."""
    nearest = table * possible
    for _ in range(1 if possible.all() else ROUNDS):
        for axis, margin in ((1, rows), (0, columns)):
            difference = (margin - nearest.sum(axis)) / np.maximum(possible.sum(axis), 1)
            nearest = nearest + np.expand_dims(difference, axis) * possible
    return nearest


@dataclass(frozen=True, kw_only=True)
class DenoisedPair:
    """Posterior of a noisy pair table: cell means, standard deviations and the log evidence."""

    counts: np.ndarray
    deviations: np.ndarray
    evidence: float = 0.0


def denoise_pair(
    table: np.ndarray,
    prior: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    sigma: float,
    possible: np.ndarray,
) -> DenoisedPair:
    """Return the posterior of a noisy pair table's cells under an empirical-Bayes mixture prior."""
    # Margins are more precise than cells, so the table is first adjusted to its margins. Each cell then has a
    # mixture prior: multiples of ``prior``, and shares of the bound from its margins. EM estimates the
    # mixture weights from all cells. The mixture covers independence (multiples of 1), mild dependence
    # (multiples near 1) and functional dependence (0 or the bound). A probably empty cell keeps a trace.
    if sigma == 0:
        return DenoisedPair(counts=table, deviations=np.zeros(table.shape))
    residual_sigma = sigma * np.sqrt(max(possible.sum() - sum(table.shape) + 1, 1) / possible.sum())
    noisy = nearest_with_margins(table, rows, columns, possible)[possible]
    bound = np.minimum.outer(rows, columns)[possible]
    independent = np.outer(rows, columns)[possible] / max(float(columns.sum()), 1e-9)
    means = np.concatenate(
        [np.minimum(PRIOR_FACTORS[:, None] * prior[possible], bound), BOUND_FACTORS[:, None] * bound]
    )
    component_variance = (RELATIVE_WIDTH * means) ** 2
    variance = component_variance + residual_sigma**2
    likelihood = -0.5 * ((noisy - means) ** 2 / variance + np.log(variance))
    largest = likelihood.max(0)
    likelihood = np.exp(likelihood - largest)
    weights = np.full(len(means), 1 / len(means))
    for _ in range(STEPS):
        weights = weights * (likelihood @ (1 / (weights @ likelihood))) + 1 / len(means)
        weights /= weights.sum()
    evidence = float((np.log(weights @ likelihood) + largest).sum())
    responsibilities = weights[:, None] * likelihood
    responsibilities /= responsibilities.sum(0)
    empty = (responsibilities * (means < np.minimum(EMPTY * residual_sigma, EMPTY_RATIO * independent))).sum(
        0
    ) > 0.5
    component_means = means + component_variance / variance * (noisy - means)
    posterior = (responsibilities * component_means).sum(0)
    posterior_variance = (
        responsibilities
        * (component_variance * residual_sigma**2 / variance + (component_means - posterior) ** 2)
    ).sum(0)
    counts, deviations = np.zeros(table.shape), np.zeros(table.shape)
    counts[possible] = np.where(empty, TRACE * independent, posterior)
    deviations[possible] = np.sqrt(posterior_variance)
    return DenoisedPair(counts=counts, deviations=deviations, evidence=evidence)


def denoise_ordered_pair(
    table: np.ndarray,
    prior: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    sigma: float,
    possible: np.ndarray,
    scores: tuple[np.ndarray, np.ndarray],
    correlation: tuple[float, float] | None = None,
) -> DenoisedPair:
    """Denoise as :func:`denoise_pair`; the prior may be tilted to the noisy table's correlation.

    ``correlation``: another noisy estimate of it, and its standard error.
    """
    # Single cells are too noisy to show a linear dependence, and shrinking each cell biases the table towards
    # independence. The sum of all cells weighted by scores is nearly unbiased. The evidence selects one of
    # the two priors.
    plain = denoise_pair(table, prior, rows, columns, sigma, possible)
    if sigma == 0:
        return plain
    u, v = scores
    total = max(float(columns.sum()), 1e-9)
    noisy_mean = float(u @ nearest_with_margins(table, rows, columns, possible) @ v) / total
    error = sigma / total * float(np.linalg.norm(u) * np.linalg.norm(v))
    if correlation is not None:
        weight = error**2 / (error**2 + correlation[1] ** 2)
        noisy_mean, error = noisy_mean + weight * (correlation[0] - noisy_mean), error * (1 - weight) ** 0.5
    if abs(noisy_mean - float(u @ prior @ v) / total) < SIGNIFICANT * error:
        return plain
    target = float(np.clip(noisy_mean, -MAX_CORRELATION, MAX_CORRELATION))
    tilted_prior = tilt(prior, rows, columns, scores, target) * possible
    tilted = denoise_pair(table, tilted_prior, rows, columns, sigma, possible)
    return tilted if tilted.evidence > plain.evidence + EVIDENCE else plain


def tilt(
    prior: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    scores: tuple[np.ndarray, np.ndarray],
    target: float,
) -> np.ndarray:
    """Tilt the prior by exp(b u v) and rake it, with b such that the mean product of scores is ``target``."""
    total, products = max(float(columns.sum()), 1e-9), np.outer(*scores)
    tilted = base = rake(prior, rows, columns, 4)
    previous_b, b = 0.0, 0.0
    mean = float((base * products).sum()) / total
    step = (target - mean) / max(1 - mean**2, 0.05)
    for _ in range(TILT_STEPS):
        previous_b, b = b, float(np.clip(b + step, -MAX_TILT, MAX_TILT))
        tilted = rake(base * np.exp(np.clip(b * products, -50, 50)), rows, columns, 6)
        previous_mean, mean = mean, float((tilted * products).sum()) / total
        if abs(mean - target) < 1e-3 or abs(mean - previous_mean) < 1e-9:
            break
        step = (target - mean) * (b - previous_b) / (mean - previous_mean)
    return tilted


def normal_scores(margin: np.ndarray, is_placed: np.ndarray) -> np.ndarray | None:
    """Return the mean normal deviate of each bucket of an ordered margin, with mean 0 and variance 1.

    Buckets without a place, such as missing, score 0. Returns None with fewer than three buckets.
    """
    mass = np.where(is_placed & (margin > 1e-9), margin, 0.0)
    if np.count_nonzero(mass) < 3:
        return None
    share = mass / mass.sum()
    densities = norm.pdf(norm.ppf(np.clip(np.concatenate([[0.0], np.cumsum(share)]), 1e-9, 1 - 1e-9)))
    scores = np.where(mass > 0, (densities[:-1] - densities[1:]) / np.maximum(share, 1e-9), 0.0)
    scores = np.where(mass > 0, scores - share @ scores, 0.0)
    scale = float(np.sqrt(mass @ scores**2 / max(float(margin.sum()), 1e-9)))
    return scores / scale if scale > 1e-6 else None


def rake(table: np.ndarray, rows: np.ndarray, columns: np.ndarray, rounds: int = 15) -> np.ndarray:
    """Fit a table, or a stack of tables, to two margins by iterative proportional fitting; clips at 0."""
    # A trace of independence makes every margin attainable.
    total = np.maximum(columns.sum(-1), 1e-9)[..., None, None]
    fitted = np.maximum(table, 0) + 1e-9 * (rows[..., :, None] * columns[..., None, :]) / total
    for _ in range(rounds):
        fitted *= (rows / np.maximum(fitted.sum(-1), 1e-300))[..., :, None]
        fitted *= (columns / np.maximum(fitted.sum(-2), 1e-300))[..., None, :]
    return fitted


def rake_all(
    table: np.ndarray, margins: Mapping[tuple[int, ...], np.ndarray], rounds: int = 15
) -> np.ndarray:
    """Fit a table of any number of axes to margins by iterative proportional fitting; clips at 0."""
    # ``margins`` maps ordered axes to the marginal over them.
    fitted = np.maximum(table, 0) + 1e-9 * max(float(np.abs(table).sum()), 1e-300) / table.size
    for _ in range(rounds):
        for axes, target in margins.items():
            summed_axes = tuple(a for a in range(table.ndim) if a not in axes)
            current = fitted.sum(summed_axes, keepdims=True)
            fitted *= target.reshape(current.shape) / np.maximum(current, 1e-300)
    return fitted
