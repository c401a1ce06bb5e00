"""Models of a user's own in a release file: a registered type, arrays, and no code."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from releases import fitted

from sdv_plausible import (
    PlausibleDeniabilitySynthesizer,
    Release,
    check_learner,
    check_model,
    register_model_type,
)
from sdv_plausible.models import NAMES, make_learner, model_types
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.base import Learner, PrefixModel, SeedModel
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.models.learner_checks import model_class
from sdv_plausible.models.log_linear import LogLinearConditional
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import Axis
from sdv_plausible.release.file.json_documents import decode, encode
from sdv_plausible.release.file.model_section import write_model
from sdv_plausible.utils.entry_points import extension_names


class Shares(PrefixModel):
    """Every column by itself."""

    def __init__(self, shares: list[np.ndarray]) -> None:
        self.shares = shares

    @property
    def cardinalities(self) -> tuple[int, ...]:
        return tuple(len(share) for share in self.shares)

    def complete(self, codes: np.ndarray, kept: Any, rng: Any, *, systematic: bool = False) -> np.ndarray:
        for j, share in enumerate(self.shares):
            rows = np.flatnonzero(j >= np.broadcast_to(kept, len(codes)))
            below = np.cumsum(share)[:-1]
            codes[rows, j] = (rng.uniform(len(rows))[:, None] >= below).sum(axis=1)
        return codes

    def log_completion(self, candidates: np.ndarray, kept: np.ndarray) -> np.ndarray:
        p = np.stack([share[candidates[:, j]] for j, share in enumerate(self.shares)], axis=1)
        return np.where(np.arange(p.shape[1]) >= np.asarray(kept)[:, None], np.log(p), 0).sum(axis=1)

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {f"{j}": share for j, share in enumerate(self.shares)}

    @classmethod
    def from_arrays(cls, arrays: Any) -> Shares:
        shares = [arrays[f"{j}"] for j in range(len(arrays))]
        if any(s.ndim != 1 or (s <= 0).any() or abs(s.sum() - 1) > 1e-9 for s in shares):
            raise ValueError("shares must be positive and sum to 1")
        return cls(shares)


@dataclass(frozen=True)
class SharesLearner(Learner):
    makes = Shares

    def plan(self, domain: Any, budget: Any) -> Any:
        return [budget.entry("one-way counts")]

    def fit(self, rows: Any, domain: Any, budget: Any, rng: Any) -> Shares:
        sets = [[Axis.of_codes(j, c)] for j, c in enumerate(domain.cardinalities)]
        counts = [np.maximum(a.values, 0) + 1 for a in rows.ask_tables(sets, [1 / len(sets)] * len(sets))]
        return Shares([c / c.sum() for c in counts])


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_types, "_TYPES", {})


def test_an_unregistered_model_is_refused_with_the_way_out(registry):
    release = fitted(model=SharesLearner()).release()
    with pytest.raises(ValueError, match=r"Shares are not registered: register_model_type\(name, Shares"):
        release.to_bytes()


def test_a_registered_model_goes_in_and_out(registry):
    register_model_type("shares", Shares, Shares.to_arrays, Shares.from_arrays)
    synth = fitted(model=SharesLearner())
    data = synth.release().to_bytes()
    release = Release.from_bytes(data)
    assert release.to_bytes() == data
    assert len(release.sample(20)) == 20
    with pytest.raises(ValueError, match="has no structure"):
        release.structure()
    rebuilt = PlausibleDeniabilitySynthesizer.from_release(release, model=SharesLearner())
    assert len(rebuilt.sample(20)) == 20
    assert isinstance(rebuilt._fit_template.learner, SharesLearner)
    model_types._TYPES.clear()
    with pytest.raises(ValueError, match="call register_model_type before Release.load"):
        Release.from_bytes(data)


def test_arrays_that_make_no_such_model_are_refused(registry):
    register_model_type("shares", Shares, Shares.to_arrays, Shares.from_arrays)
    release = fitted(model=SharesLearner()).release()
    for damage in (
        lambda arrays: arrays.update({"0": np.array([0.5, 0.6])}),
        lambda arrays: arrays.update({"0": np.array([0.5, 0.5])}),
        lambda arrays: arrays.pop("1"),
        lambda arrays: arrays.update({"0": np.array([1, 2])}),
    ):
        arrays = Shares.to_arrays(release.model)
        damage(arrays)
        register_model_type("shares", Shares, lambda model, arrays=arrays: arrays, Shares.from_arrays)
        with pytest.raises(ValueError, match="^model: "):
            Release.from_bytes(release.to_bytes())


def test_arrays_of_no_finite_numbers_are_refused(registry):
    register_model_type("shares", Shares, lambda model: {"0": np.log(np.zeros(2) + 0.0)}, Shares.from_arrays)
    release = fitted(model=SharesLearner(), epsilon=2.0).release()
    with (
        pytest.raises(ValueError, match="store probabilities, not their logarithms"),
        np.errstate(divide="ignore"),
    ):
        release.to_bytes()


def test_what_may_be_registered(registry):
    register_model_type("shares", Shares, Shares.to_arrays, Shares.from_arrays)
    register_model_type("shares/2", Shares, Shares.to_arrays, Shares.from_arrays)
    assert model_types.model_type_named("shares") is None
    with pytest.raises(ValueError, match="registered already"):
        register_model_type("shares/2", type("Other", (Shares,), {}), Shares.to_arrays, Shares.from_arrays)
    with pytest.raises(ValueError, match="registered already"):
        register_model_type("mine", BayesianNetwork, Shares.to_arrays, Shares.from_arrays)
    with pytest.raises(ValueError, match="derived from PrefixModel"):
        register_model_type("mine", SeedModel, Shares.to_arrays, Shares.from_arrays)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must be a text"):
        register_model_type("", Shares, Shares.to_arrays, Shares.from_arrays)


def test_check_model_looks_at_the_round_trip(registry):
    register_model_type("shares", Shares, Shares.to_arrays, Shares.from_arrays)
    model = Shares([np.array([0.2, 0.8]), np.array([0.1, 0.2, 0.7])])
    check_model(model, (2, 3))
    check_learner(SharesLearner())

    def loses(arrays):
        made = copy.deepcopy(Shares.from_arrays(arrays))
        made.shares[0] = made.shares[0][::-1]
        return made

    register_model_type("shares", Shares, Shares.to_arrays, loses)
    with pytest.raises(AssertionError, match="to_arrays and from_arrays"):
        check_model(model, (2, 3))


def test_a_network_that_lacks_a_column_is_refused():
    """The last column is nobody's parent where all are independent: what is left is a network, of fewer columns."""
    whole = json.loads(fitted(structure="independent").release().to_bytes())
    names = [a["name"] for a in whole["domain"]]
    whole["model"]["tables"].sort(key=lambda table: names.index(table["column"]))
    for lacking in (-1, 0):
        document = copy.deepcopy(whole)
        document["model"]["tables"].pop(lacking)
        with pytest.raises(
            ValueError, match="model.*(an order that names each once|needs exactly one table)"
        ):
            Release.from_bytes(json.dumps(document).encode())


def test_every_named_model_has_a_form_in_files():
    """Else a fit is paid for, and no file can be written."""
    known = {BayesianNetwork, *(model_types.model_type_named(name).made for name in extension_names("model"))}
    for name in NAMES:
        made = model_class(make_learner(name))
        assert made in known or not issubclass(made, PrefixModel), (
            f"{name}: register {made.__name__} in models/<name>/model.py, and name it in models/model_types.py"
        )


@pytest.mark.parametrize("name", [n for n in NAMES if model_class(make_learner(n)) is not BayesianNetwork])
def test_arrays_of_every_named_model_are_checked(name):
    """A file may be hostile: one array short of a number, or with one that is none. Control: as they were."""
    small = {"model_parameters": {"hidden": 8, "latent": 2}} if name == "latent" else {}
    model = fitted(model=name, **small)._sampler.model
    kind = next(
        k for n in extension_names("model") if (k := model_types.model_type_named(n)).made is type(model)
    )
    arrays = {key: np.array(array, dtype=float) for key, array in kind.to_arrays(model).items()}
    kind.from_arrays(kind.to_arrays(model))
    for key, array in arrays.items():
        short, odd = array.ravel()[:-1], array.copy()
        odd.flat[0] = np.nan
        for damaged in (short, odd):
            with pytest.raises(ValueError):  # noqa: PT011
                kind.from_arrays({**kind.to_arrays(model), key: damaged})
        with pytest.raises(ValueError):  # noqa: PT011
            kind.from_arrays({k: a for k, a in kind.to_arrays(model).items() if k != key})


@pytest.fixture(scope="module")
def product() -> Release:
    """A release whose network keeps its factors: no table may have more than four cells."""
    return fitted(model=AdaptiveNetwork(max_cost=4)).release()


def test_a_product_goes_in_and_out_and_draws_the_same_rows(product):
    read = Release.from_bytes(product.to_bytes())
    kept = [t for t in read.model.tables if isinstance(t, LogLinearConditional)]
    assert kept
    assert any(t.factors for t in kept)
    first, second = (r.model.sample(500, KeyedRNG.from_seed(1)) for r in (product, read))
    assert (first == second).all()
    assert (read.model.log_suffix(first) == product.model.log_suffix(first)).all()
    assert read.to_bytes() == product.to_bytes()
    assert write_model(read.model, read.domain)["type"] == "bayesian_network"


def _factor(document: Any) -> Any:
    return next(f for t in document["model"]["tables"] for f in t.get("factors", ()))


def _conditional(document: Any) -> Any:
    return next(t for t in document["model"]["tables"] if t.get("factors"))


def _array(values: Any) -> dict[str, Any]:
    return encode(np.asarray(values))


DAMAGED: list[tuple[Callable[[Any], Any], str]] = [
    (lambda d: _factor(d).update(weights=_array(decode(_factor(d)["weights"]) * 2)), "largest be 1"),
    (lambda d: _factor(d).update(weights=_array(decode(_factor(d)["weights"])[:-1])), "shape"),
    (lambda d: _factor(d).update(weights=_array(decode(_factor(d)["weights"]) * 0.0)), "largest be 1"),
    (lambda d: _factor(d).update(parents=[]), "distinct parents"),
    (lambda d: _factor(d).update(parents=[], buckets=[], weights=_array(np.ones((1, 1)))), "shape|parent"),
    (lambda d: _factor(d).update(parents=[_conditional(d)["column"]]), "distinct parents"),
    (lambda d: _factor(d).update(buckets=[_array([99])]), "bucket below"),
    (lambda d: _factor(d).pop("weights"), "exactly the entries"),
    (lambda d: _conditional(d).update(bucket=_array(decode(_conditional(d)["bucket"]) + 1)), "each of them"),
    (lambda d: _conditional(d).update(inside=_array(decode(_conditional(d)["inside"]) * 0.5)), "sum to 1"),
    (lambda d: _conditional(d).update(base=_array(decode(_conditional(d)["base"]) * 0.0)), "not all 0"),
    (lambda d: _conditional(d).update(base=_array(-decode(_conditional(d)["base"]))), "not negative"),
]  # fmt: skip


def test_damaged_products_are_refused(product):
    for damage, what in DAMAGED:
        document = json.loads(product.to_bytes())
        damage(document)
        with pytest.raises(ValueError, match=f"model.*{what}"):
            Release.from_bytes(json.dumps(document).encode())
