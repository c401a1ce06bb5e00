"""What noise does to tables, and how to take most of it out again. All of it is post-processing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from sdv_plausible.models.conditional_table import project_to_simplex

CROWDED = 1.0  # standard deviations that projecting takes off every cell, from which on most cells are empty
STANDS_OUT = 3.0  # standard deviations from which on a cell of such a table, or a far end, is no noise
FAINT_END = 0.7  # standard deviations of the noise on an end of a column, up to which it goes in any case
FAR = 4.0  # the same for what is far out: of a hundred empty codes one passes 3 in every eighth column
GAP = 1e-3  # weight of the last code that is left among those of its tail
TAIL = 1.0  # standard deviations that are taken off the rows of a cleared end before they come back
SEEN = 2.0  # standard deviations from which on a part of a far end is left
BENT = 0.05  # of a column's variance, what noise on an end bends it by where that end must stand out
FAINT = 0.15  # standard deviations of the noise, below which a category counts as emptied by it
LITTLE = 0.1  # of a column's total, what an end of it holds at most that is emptied
ALIVE = 0.0025  # of a column's total, what such categories get together at most
TIMES = np.append(0.0, 2.0 ** np.arange(-4, 3))  # what a cell may be, in times of what was said of it before
SHARES = 2.0 ** np.arange(-6, 1)  # the same, in shares of the most that its margins allow
BREADTH = 0.35  # deviation around each of these, relative: they lie a factor of 2 apart
STEPS, ROUNDS = 20, 5  # of EM; of meeting the margins where there are structural zeros
EMPTY, LACKS = 0.4, 0.7  # standard deviations, and times independence, below which a cell counts as empty
SIGNIFICANT = 2.0  # standard errors that a mean product of scores must differ from the prior's by
EVIDENCE = 3.0  # log evidence that the tilted prior must have beyond the plain one
MAX_CORRELATION = 0.99  # mean product of scores that a prior is tilted to
TILT_STEPS, MAX_TILT = 12, 12.0  # secant steps, and the largest exponent per product of scores
TRACE = 0.005  # of what independence says, what they keep: zeros of several tables may contradict one another


def haar_denoise(values: np.ndarray, sigma: float, threshold: float = 2.5, levels: int = 4) -> np.ndarray:
    """Translation-invariant Haar denoising of an ordered margin."""
    # Details within ``threshold * sigma`` are noise. Spikes stay, smooth stretches are averaged (Coifman and
    # Donoho 1995).
    if len(values) < 8 or sigma == 0:
        return values
    size = 1 << int(np.ceil(np.log2(len(values))))
    mirrored = np.concatenate([values, values[::-1]])[
        :size
    ]  # so that the circular shifts see no edge at the top
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
    """Projection on the simplex of counts, the first of them ordered, at ``places``; ends of noise go."""
    # With a wide declared range, what noise leaves at the ends of it is mass at values that nobody has, so
    # far out that a little of it bends a standard deviation. Ends are left out before the projection, so that
    # nothing is taken off the others for what noise put there. What an end surely holds all the same, by its
    # noisy counts together, comes back as a tail that decays from the last code that is left.
    k = len(places)
    kept = np.ones(len(smooth), dtype=bool)
    kept[:k] = _kept(project_to_simplex(smooth, total)[:k], noisy[:k], places, sigma)
    found = np.zeros(len(smooth))
    found[kept] = project_to_simplex(smooth[kept], total)
    if 0 < np.count_nonzero(kept[:k]) < k and sigma:
        first, last = np.flatnonzero(kept[:k])[[0, -1]]
        for line, gone in ((slice(None, None, -1), k - 1 - first), (slice(None), last)):
            _add_tail(found[:k][line], noisy[:k][line], places[line], int(gone), sigma)
        found[kept] *= max(0.0, 1 - (found.sum() - total) / max(found[kept].sum(), 1e-300))
    return found


def _add_tail(counts: np.ndarray, noisy: np.ndarray, places: np.ndarray, last: int, sigma: float) -> None:
    """Add what an end that was cleared, all codes after ``last``, surely holds to its counts, in place."""
    # As many rows as its noisy counts add up to, less ``TAIL`` deviations. Their density is at first that of
    # the code that is left last, and decays exponentially: that code itself gets them where the next one is
    # far away.
    size = len(noisy) - 1 - last
    rows = noisy[last + 1 :].sum() - TAIL * sigma * math.sqrt(size)
    if rows <= 0 or last == 0:
        return
    spacing = abs(places[last] - places[last - 1])
    length = spacing * max(1.0, rows / max(counts[last], sigma))
    away = np.abs(places[last:] - places[last])
    weights = np.exp(-np.minimum(away / length, 700.0)) * np.append(GAP * spacing, np.diff(away))
    counts[last:] += rows * weights / weights.sum()


def _kept(counts: np.ndarray, noisy: np.ndarray, places: np.ndarray, sigma: float) -> np.ndarray:
    """Mask of codes that are left when both ends are cleared."""
    # An end of k codes goes while its cleaned counts add up to at most ``FAINT_END * sigma * sqrt(k)``. Where
    # noise of sigma * sqrt(k) would bend the variance by ``BENT`` or more, more of it may go: as far as the
    # noisy counts, which are unbiased, add up to at most ``STANDS_OUT`` times that and none stands out alone.
    # Of that the runs of 1, 2, 4, ... codes, from inside out, are left whose own noisy counts are ``SEEN``
    # deviations: what borders on many rows holds some, too. Never more than ``LITTLE`` of all goes: of a
    # table that is lost in noise, nearly all would. Chosen on ages, hours, years of schooling, delays and
    # diamonds, with ranges one to six times too wide.
    noise = sigma * np.sqrt(np.arange(1, len(counts) + 1))
    most = LITTLE * counts.sum()
    faint = [int(np.argmax(np.cumsum(c) > np.minimum(FAINT_END * noise, most))) for c in _both(counts)]
    inner = counts.copy()
    inner[: faint[0]] = inner[len(counts) - faint[1] :] = 0.0
    weight = inner / max(inner.sum(), 1e-300)
    places = np.ldexp(places, -int(np.frexp(np.abs(places).max())[1]))  # squares of doubles may be beyond all
    squares = (places - weight @ places) ** 2
    straight = BENT * float(weight @ squares) * counts.sum()  # noise times square that is borne
    kept = np.ones(len(counts), dtype=bool)
    for here, c, n, d, gone in zip(
        _both(kept), _both(counts), _both(noisy), _both(squares), faint, strict=True
    ):
        certain = (np.cumsum(n) > FAR * noise) | (n > FAR * sigma)
        last, size = int(np.argmax(certain | (noise * d < straight) | (np.cumsum(c) > most))), 1
        here[:gone] = False
        while last > gone:
            first = max(last - size, gone)
            here[first:last] = n[first:last].sum() > SEEN * noise[last - first - 1]
            last, size = first, 2 * size
    return kept


def _both(line: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From either end."""
    return line, line[::-1]


def project_sparse(counts: np.ndarray, sigma: float, total: float) -> np.ndarray:
    """Projection on the simplex of counts without an order, of which most may be empty."""
    # The projection takes the same off every cell, so that what noise put on the empty ones goes. Where
    # nearly all are empty (a few hundred airports among all codes) that is most of what the others hold: the
    # cells that stand out then keep their counts, and the others share what is left.
    projected = project_to_simplex(counts, total)
    out = counts > STANDS_OUT * sigma
    left = total - counts[out].sum()
    if (counts - projected).max() <= CROWDED * sigma or left <= 0 or not out.any():
        return projected
    found = counts.astype(float)
    found[~out] = project_to_simplex(counts[~out], left)
    return found


def keep_alive(counts: np.ndarray, sigma: float) -> np.ndarray:
    """Leave a little to categories that noise emptied: who declares a value knows that it occurs."""
    # A share of the noise's standard deviation each, and ``ALIVE`` of the total for all of them at most.
    least = FAINT * sigma
    faint = counts < least
    if not faint.any():
        return counts
    least = min(least, ALIVE * counts.sum() / faint.sum())
    alive = np.maximum(counts, least)
    return np.asarray(alive * (counts.sum() / alive.sum()))


def shrink_singular_values(residual: np.ndarray, sigma: float) -> np.ndarray:
    """Shrink singular values for white noise of known sigma (Gavish and Donoho 2017)."""
    # The dependence between two columns is nearly of low rank, noise is not. The operator norm keeps the
    # strength of a link unbiased; the Frobenius norm would weaken it for the noise in its direction, and what
    # is predicted by it with it.
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
    """The nearest table with these margins, by least squares, and zeros where nothing can occur."""
    nearest = table * possible
    for _ in range(1 if possible.all() else ROUNDS):
        for axis, margin in ((1, rows), (0, columns)):
            lacking = (margin - nearest.sum(axis)) / np.maximum(possible.sum(axis), 1)
            nearest = nearest + np.expand_dims(lacking, axis) * possible
    return nearest


@dataclass(frozen=True, kw_only=True)
class DenoisedPair:
    """Posterior of a noisy pair table: cell means, their standard deviations, and the log evidence."""

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
    """Posterior of the cells of a noisy pair table, under a mixture that its own cells teach."""
    # Its margins are known better than its cells: what contradicts them is noise, and goes first. Then
    # empirical Bayes: a cell is about so many times what ``prior`` says of it, or such a share of the most
    # that its margins allow. How often each is the case is found by EM, from all cells of this table. So one
    # rule serves what is independent (all ones), a mild dependence (near ones) and what one value determines
    # of another (zeros, and all that there is). A cell that is more likely empty than not keeps a trace.
    if sigma == 0:
        return DenoisedPair(counts=table, deviations=np.zeros(table.shape))
    left = sigma * np.sqrt(max(possible.sum() - sum(table.shape) + 1, 1) / possible.sum())
    seen = nearest_with_margins(table, rows, columns, possible)[possible]
    most = np.minimum.outer(rows, columns)[possible]
    apart = np.outer(rows, columns)[possible] / max(float(columns.sum()), 1e-9)
    means = np.concatenate([np.minimum(TIMES[:, None] * prior[possible], most), SHARES[:, None] * most])
    within = (BREADTH * means) ** 2
    variance = within + left**2
    fit = -0.5 * ((seen - means) ** 2 / variance + np.log(variance))
    largest = fit.max(0)
    fit = np.exp(fit - largest)
    weights = np.full(len(means), 1 / len(means))
    for _ in range(STEPS):
        weights = weights * (fit @ (1 / (weights @ fit))) + 1 / len(means)
        weights /= weights.sum()
    evidence = float((np.log(weights @ fit) + largest).sum())
    chances = weights[:, None] * fit
    chances /= chances.sum(0)
    empty = (chances * (means < np.minimum(EMPTY * left, LACKS * apart))).sum(0) > 0.5
    each = means + within / variance * (seen - means)
    posterior = (chances * each).sum(0)
    spread = (chances * (within * left**2 / variance + (each - posterior) ** 2)).sum(0)
    counts, deviations = np.zeros(table.shape), np.zeros(table.shape)
    counts[possible] = np.where(empty, TRACE * apart, posterior)
    deviations[possible] = np.sqrt(spread)
    return DenoisedPair(counts=counts, deviations=deviations, evidence=evidence)


def denoise_ordered_pair(
    table: np.ndarray,
    prior: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    sigma: float,
    possible: np.ndarray,
    scores: tuple[np.ndarray, np.ndarray],
) -> DenoisedPair:
    """The same for two ordered columns: the prior may be tilted to the noisy table's own correlation."""
    # Each cell alone is too noisy to show a linear dependence, and shrinking each by itself adds up to a
    # bias towards independence. The sum of all cells weighted by scores is nearly unbiased. The cells'
    # evidence decides between the two priors.
    plain = denoise_pair(table, prior, rows, columns, sigma, possible)
    if sigma == 0:
        return plain
    u, v = scores
    total = max(float(columns.sum()), 1e-9)
    seen = float(u @ nearest_with_margins(table, rows, columns, possible) @ v) / total
    error = sigma / total * float(np.linalg.norm(u) * np.linalg.norm(v))
    if abs(seen - float(u @ prior @ v) / total) < SIGNIFICANT * error:
        return plain
    goal = float(np.clip(seen, -MAX_CORRELATION, MAX_CORRELATION))
    tilted_prior = tilt(prior, rows, columns, scores, goal) * possible
    tilted = denoise_pair(table, tilted_prior, rows, columns, sigma, possible)
    return tilted if tilted.evidence > plain.evidence + EVIDENCE else plain


def tilt(
    prior: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    scores: tuple[np.ndarray, np.ndarray],
    goal: float,
) -> np.ndarray:
    """The prior times exp(b u v) with these margins; b makes its mean product of scores the goal."""
    total, products = max(float(columns.sum()), 1e-9), np.outer(*scores)
    found = base = rake(prior, rows, columns, 4)
    before, b = 0.0, 0.0
    mean = float((base * products).sum()) / total
    step = (goal - mean) / max(1 - mean**2, 0.05)
    for _ in range(TILT_STEPS):
        before, b = b, float(np.clip(b + step, -MAX_TILT, MAX_TILT))
        found = rake(base * np.exp(np.clip(b * products, -50, 50)), rows, columns, 6)
        last, mean = mean, float((found * products).sum()) / total
        if abs(mean - goal) < 1e-3 or abs(mean - last) < 1e-9:
            break
        step = (goal - mean) * (b - before) / (mean - last)
    return found


def normal_scores(margin: np.ndarray, is_placed: np.ndarray) -> np.ndarray | None:
    """Mean normal deviate of each bucket of an ordered margin, scaled to mean 0 and variance 1.

    Buckets without a place, such as missing, score 0. None with fewer than three buckets.
    """
    mass = np.where(is_placed & (margin > 1e-9), margin, 0.0)
    if np.count_nonzero(mass) < 3:
        return None
    share = mass / mass.sum()
    ends = norm.pdf(norm.ppf(np.clip(np.concatenate([[0.0], np.cumsum(share)]), 1e-9, 1 - 1e-9)))
    found = np.where(mass > 0, (ends[:-1] - ends[1:]) / np.maximum(share, 1e-9), 0.0)
    found = np.where(mass > 0, found - share @ found, 0.0)
    length = float(np.sqrt(mass @ found**2 / max(float(margin.sum()), 1e-9)))
    return found / length if length > 1e-6 else None


def rake(table: np.ndarray, rows: np.ndarray, columns: np.ndarray, rounds: int = 15) -> np.ndarray:
    """Iterative proportional fitting of a table, clipped at 0, to two margins; or of a stack of tables."""
    # A trace of independence keeps every margin reachable.
    total = np.maximum(columns.sum(-1), 1e-9)[..., None, None]
    fitted = np.maximum(table, 0) + 1e-9 * (rows[..., :, None] * columns[..., None, :]) / total
    for _ in range(rounds):
        fitted *= (rows / np.maximum(fitted.sum(-1), 1e-300))[..., :, None]
        fitted *= (columns / np.maximum(fitted.sum(-2), 1e-300))[..., None, :]
    return fitted


def rake_all(
    table: np.ndarray, margins: Mapping[tuple[int, ...], np.ndarray], rounds: int = 15
) -> np.ndarray:
    """Iterative proportional fitting of a table of any number of axes, clipped at 0."""
    # ``margins``: axes, in order, to the margin over them.
    fitted = np.maximum(table, 0) + 1e-9 * max(float(np.abs(table).sum()), 1e-300) / table.size
    for _ in range(rounds):
        for axes, target in margins.items():
            others = tuple(a for a in range(table.ndim) if a not in axes)
            now = fitted.sum(others, keepdims=True)
            fitted *= target.reshape(now.shape) / np.maximum(now, 1e-300)
    return fitted
