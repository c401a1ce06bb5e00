"""The model in a release file: the name of its registered type, and its arrays."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from sdv_plausible.mechanism.drawing.released_prefixes import ReleasedPrefixes, ReleasedSeeds
from sdv_plausible.models.base import PrefixModel
from sdv_plausible.models.bayesian_network import NETWORK_TYPE, BayesianNetwork, Conditional
from sdv_plausible.models.conditional_table import ConditionalTable, ParentConfigurations
from sdv_plausible.models.log_linear import Factor, LogLinearConditional
from sdv_plausible.release.file.document_nodes import DocumentNode
from sdv_plausible.table.cells.canonical_forms import LONGEST_NAME
from sdv_plausible.table.columns.domain import Domain

_TABLE = ("column", "parents", "buckets", "probabilities")
_PRODUCT = ("column", "bucket", "inside", "base", "factors")
SUM_TOLERANCE = 1e-5


def write_model(model: Any, domain: Domain) -> dict[str, Any]:
    """Model as a section."""
    if type(model) is BayesianNetwork:
        return {"type": NETWORK_TYPE, "tables": [_write_table(table, domain.names) for table in model.tables]}
    from sdv_plausible.models.model_types import model_type_of  # lazy: only for other models

    registered = model_type_of(model)
    if registered is None:
        raise ValueError(
            f"models of type {type(model).__name__} are not registered: call register_model_type(name, "
            f"{type(model).__name__}, to_arrays, from_arrays), which converts them to arrays and back"
        )
    arrays = {str(name): np.asarray(array) for name, array in registered.to_arrays(model).items()}
    return {"type": registered.name, "arrays": arrays}


def _write_table(table: Conditional, names: tuple[str, ...]) -> dict[str, Any]:
    if isinstance(table, ConditionalTable):
        return {
            "column": names[table.child],
            **_write_parents(table.given, names),
            "probabilities": np.asarray(table.probabilities, dtype=np.float64),
        }
    return {
        "column": names[table.child],
        "bucket": np.asarray(table.bucket, dtype=np.int64),
        "inside": np.asarray(table.inside, dtype=np.float64),
        "base": np.asarray(table.base, dtype=np.float64),
        "factors": [
            {**_write_parents(f.given, names), "weights": f.weights.astype(np.float64)} for f in table.factors
        ],
    }


def _write_parents(given: ParentConfigurations, names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "parents": [names[parent] for parent in given.parents],
        "buckets": [np.asarray(bucket, dtype=np.int64) for bucket in given.buckets],
    }


def read_model(node: DocumentNode, domain: Domain) -> PrefixModel:
    """Read and check the section of the model."""
    entries = node.entries()
    name = entries["type"].text(LONGEST_NAME) if "type" in entries else ""
    if name == NETWORK_TYPE:
        tables = node.fields(("type", "tables"))["tables"].items(100_000)
        number = {column: j for j, column in enumerate(domain.names)}
        read_tables = [_read_table(item, number, domain.cardinalities) for item in tables]
        return node.validate(lambda: _check_fits(BayesianNetwork(read_tables), BayesianNetwork, domain))
    from sdv_plausible.models.model_types import model_type_named

    registered = model_type_named(name)
    if registered is None:
        raise node.refuse(
            "has an unregistered model type: for custom models, call register_model_type before Release.load"
        )
    arrays = {
        key: item.any_array() for key, item in node.fields(("type", "arrays"))["arrays"].entries().items()
    }
    model = node.validate(lambda: registered.from_arrays(arrays))
    return node.validate(lambda: _check_fits(model, registered.made, domain))


def _check_fits(model: Any, model_type: type[PrefixModel], domain: Domain) -> PrefixModel:
    if not isinstance(model, model_type):
        raise ValueError(f"from_arrays must return a {model_type.__name__}")
    if tuple(model.cardinalities) != domain.cardinalities or sorted(model.order) != list(range(len(domain))):
        raise ValueError(
            "the model's columns must have the domain's numbers of codes, and an order that names each once"
        )
    return model


def _read_table(node: DocumentNode, number: dict[str, int], cardinalities: tuple[int, ...]) -> Conditional:
    if "factors" in node.entries():
        return _read_product(node, number, cardinalities)
    f = node.fields(_TABLE)
    child = f["column"].lookup(number)
    given = _read_parents(node, f, child, number, cardinalities)
    probabilities = f["probabilities"].array("real", (given.number, cardinalities[child]))
    if (probabilities < 0).any() or (np.abs(probabilities.sum(axis=1) - 1) > SUM_TOLERANCE).any():
        raise f["probabilities"].refuse("must not be negative, and every row must sum to 1")
    return node.validate(
        lambda: ConditionalTable(
            child=child, parents=given.parents, buckets=given.buckets, probabilities=probabilities
        )
    )


def _read_product(
    node: DocumentNode, number: dict[str, int], cardinalities: tuple[int, ...]
) -> LogLinearConditional:
    f = node.fields(_PRODUCT)
    child = f["column"].lookup(number)
    bucket = f["bucket"].array("whole", (cardinalities[child],))
    inside = f["inside"].array("real", (cardinalities[child],))
    base = f["base"].array("real", (None,))
    if not np.array_equal(np.unique(bucket), np.arange(len(base))):
        raise f["bucket"].refuse("must give every code one of the buckets of base, and each of them a code")
    factors = []
    for item in f["factors"].items(100_000):
        g = item.fields(("parents", "buckets", "weights"))
        given = _read_parents(item, g, child, number, cardinalities)
        weights = g["weights"].array("real", (given.number, len(base))).astype(np.float32)
        factors.append(item.validate(partial(Factor, given=given, weights=weights)))
    return node.validate(
        lambda: LogLinearConditional(
            child=child, bucket=bucket, inside=inside, base=base, factors=tuple(factors)
        )
    )


def _read_parents(
    node: DocumentNode,
    f: dict[str, DocumentNode],
    child: int,
    number: dict[str, int],
    cardinalities: tuple[int, ...],
) -> ParentConfigurations:
    parents = tuple(item.lookup(number) for item in f["parents"].items(1000))
    buckets = tuple(item.array("whole", (None,)) for item in f["buckets"].items(1000))
    if child in parents or len(set(parents)) != len(parents) or len(buckets) != len(parents):
        raise node.refuse("must have distinct parents, none of them the column itself, and buckets for each")
    for bucket, parent in zip(buckets, parents, strict=True):
        if len(bucket) != cardinalities[parent] or (bucket < 0).any() or (bucket >= len(bucket)).any():
            raise f["buckets"].refuse("must give every code of the parent a bucket below its number of codes")
    return ParentConfigurations(parents=parents, buckets=buckets)


MAX_SUM = 2**53  # largest sum of sizes, exact as a double
_FIELDS = ("columns", "codes", "sizes")


def write_seeds(seeds: ReleasedSeeds, model: PrefixModel, domain: Domain) -> list[dict[str, Any]]:
    """Released seeds as a section."""
    return [
        {
            "columns": [domain.names[j] for j in model.order[: part.kept]],
            "codes": np.asarray(part.prefixes, dtype=np.int64),
            "sizes": np.asarray(part.sizes, dtype=np.int64),
        }
        for part in seeds.parts
    ]


def read_seeds(node: DocumentNode, model: PrefixModel, domain: Domain) -> ReleasedSeeds:
    """Read and check the section of the seeds, for a model."""
    parts = tuple(_read(item, model, domain) for item in node.items(100_000))
    if not parts:
        raise node.refuse("must have a part at least")
    return ReleasedSeeds(parts=parts)


def _read(node: DocumentNode, model: PrefixModel, domain: Domain) -> ReleasedPrefixes:
    f = node.fields(_FIELDS)
    index_of = {name: j for j, name in enumerate(domain.names)}
    columns = [item.lookup(index_of) for item in f["columns"].items(100_000)]
    if tuple(columns) != tuple(model.order[: len(columns)]):
        raise f["columns"].refuse("must be the first columns of the model's order")
    codes, sizes = f["codes"].array("whole", (None, len(columns))), f["sizes"].array("whole", (None,))
    if len(codes) != len(sizes) or (not columns and sizes.tolist() != [1]):
        raise node.refuse("must have a size for every row of codes, and for no columns the one size 1")
    if (codes < 0).any() or (
        codes >= np.array([domain.cardinalities[j] for j in columns], dtype=np.int64)
    ).any():
        raise f["codes"].refuse("must be codes of the columns")
    if (sizes < 1).any() or sizes.astype(float).sum() > MAX_SUM:
        raise f["sizes"].refuse(f"must be whole numbers of at least 1 with a sum of at most {MAX_SUM}")
    released = ReleasedPrefixes.sort(codes.astype(np.int32), sizes)
    if not (released.prefixes == codes).all() or (np.diff(codes, axis=0) == 0).all(axis=1).any():
        raise f["codes"].refuse("must be sorted and distinct")
    return released
