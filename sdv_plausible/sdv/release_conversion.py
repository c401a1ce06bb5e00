"""Convert a fitted synthesizer to a release, which needs no SDV, and a release to a synthesizer."""

from __future__ import annotations

import os
import pickle
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sdv.errors import SamplingError
from sdv.utils import load_synthesizer

from sdv_plausible.fitting.arguments import released_types
from sdv_plausible.fitting.fit import FitResult
from sdv_plausible.fitting.reused_domain import cost_document, without_assumed_format
from sdv_plausible.mechanism.drawing.sampler import PrefixSampler
from sdv_plausible.mechanism.privacy_tests.privacy_settings import read_test
from sdv_plausible.models import learner_from_config, make_learner
from sdv_plausible.privacy.entries import REUSED_PREFIX
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import person_from_fields
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.release.file.answers_section import AnswersSection
from sdv_plausible.release.file.fake_columns import check_locales
from sdv_plausible.release.file.release import Release
from sdv_plausible.release.file.schema_section import SchemaColumn, TableSchema
from sdv_plausible.release.file.settings_section import (
    KNOWN,
    OTHERS,
    privacy_test_of,
    release_settings,
    versions_of,
)
from sdv_plausible.sdv.metadata import metadata_from_table
from sdv_plausible.table.columns.column_document import type_words
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.columns.output_types import uses_storage
from sdv_plausible.table.declared.column_types import DECLARED_TYPES, check_released, metadata_columns
from sdv_plausible.table.declared.declarations import as_domain_file
from sdv_plausible.table.declared.domain_file import DomainFile


def to_release(synth: Any, *, allow_no_claim: bool) -> Release:
    """The release of a fitted synthesizer; ValueError if it holds records or code, or makes no claim."""
    sampler = synth._sampler
    if sampler is None:
        raise SamplingError(
            "there is nothing to release yet: call fit() first, with a table that has a modelled column"
        )
    if not isinstance(sampler, PrefixSampler):
        raise ValueError(
            f"test={synth._fit_template.settings.test.name!r} keeps seed records, which a release file must "
            "not contain: fit with test='release', or share sampled rows"
        )
    if synth._sdv.sees_rows:
        raise ValueError(
            "SDV constraints and custom transformers are code, which a release file cannot contain: remove "
            "them, or share sampled rows"
        )
    ledger = synth.privacy_ledger()
    if not ledger.claims_privacy and not allow_no_claim:
        raise ValueError(
            "this fit has no privacy guarantee, so the file may contain values of single people. "
            "print(privacy_ledger()) lists the causes: remove them, or call release(allow_no_claim=True)"
        )
    domain = synth._codec.domain
    return Release(
        schema=_schema(synth),
        domain=domain,
        rules=synth._fitted_rules,
        model=sampler.model,
        seeds=sampler.seeds,
        answers=AnswersSection(sampler.answers, domain.names),
        ledger=ledger,
        settings=synth._release_settings or settings_of(synth),
        versions=versions_of("sdv"),
    )


def _schema(synth: Any) -> TableSchema:
    check_released(synth.metadata)  # an earlier version may have saved the object
    table = next(iter(synth.metadata.to_dict()["tables"].values()))
    labels = {str(label): label for label in synth._original_columns}
    types = synth._data_processor._dtypes
    stored, voted = getattr(synth, "_storage_types", {}), synth._fit_template.column_specs.open
    columns = tuple(
        SchemaColumn(
            name=str(name),
            label=_plain_label(labels.get(str(name), name)),
            spec=type_words(spec),
            dtype=types[name],
            storage=stored.get(str(name)) if uses_storage(spec, voted=str(name) in voted) else None,
        )
        for name, spec in table["columns"].items()
    )
    return TableSchema(
        table=synth._table_name,
        columns=columns,
        primary_key=_key(table.get("primary_key")),
        alternate_keys=tuple(key for key in map(_key, table.get("alternate_keys") or ()) if key is not None),
        relationships=tuple(
            (r["type"], tuple(r["column_names"])) for r in table.get("column_relationships") or ()
        ),
    )


def _plain_label(label: Any) -> str | int:
    is_integer = isinstance(label, (int, np.integer)) and not isinstance(label, bool)
    return int(label) if is_integer else str(label)


def _key(key: Any) -> str | tuple[str, ...] | None:
    return tuple(key) if isinstance(key, (list, tuple)) else key


def settings_of(synth: Any) -> dict[str, Any]:
    """Settings of a release file, without the seed, which reveals the noise, and the budget."""
    others = {name: getattr(synth, name) for name in OTHERS if name != "returns_tables"}
    others |= {"locales": check_locales(synth.locales), "returns_tables": synth._returns_dict}
    others["types"] = released_types(
        synth.types, synth._fit_template.assumed, synth._fit_template.reused_domain
    )
    settings = release_settings(
        synth._fit_template.settings, synth.model, synth._fit_template.column_specs.open, **others
    )
    if synth._other_type_shares:
        settings |= {"voted_others": dict(synth._other_type_shares)}
    rows, source = synth._public_origin
    if rows is None:
        return settings
    settings |= {"public_rows": rows, "public_source": source}  # no file holds the public table itself
    return settings if synth._public_digest is None else settings | {"public_sha256": synth._public_digest}


def from_release(kind: type[Any], release: Release, parameters: Mapping[str, Any]) -> Any:
    """A synthesizer of a class that samples a release; ``parameters`` replace the release's."""
    if not isinstance(release, Release):
        raise Refused("release", type(release), "must be a Release", "read a file with Release.load(path)")
    settings = release.settings
    unknown = sorted(set(settings) - {*KNOWN})
    if unknown:
        raise ValueError(
            f"the release has settings that this version does not know: {', '.join(unknown)[:100]}"
        )
    carried = _charges_before_fit(release)
    if "domain" in parameters and any(entry.losses for entry in carried.entries):
        raise Refused.saying(
            "domain",
            "domain: part of the cost of this release belongs to its own domain, and would be lost with "
            "another one. Leave domain out, or create a new synthesizer with the domain file",
        )
    names = ("epsilon", "delta", "neighbours", *OTHERS)
    arguments = {name: settings[name] for name in names if name != "returns_tables"}
    if settings["types"] == "declared":  # the metadata states them, see below
        arguments["types"] = None
    name, test = settings["privacy_test"], privacy_test_of(settings)
    arguments["test"] = name if test == read_test(name) else test
    arguments |= {"domain": _declared(release, carried), "rules": release.rules.rule_set.rules}
    arguments["person"] = person_from_fields(settings["person"], settings["rows_per_person"])
    if "model" in settings:
        learner = learner_from_config(settings)
        by_name = learner == make_learner(settings["model"]) and settings.get("structure") is None
        arguments["model"] = settings["model"] if by_name else learner
    voted = settings.get("voted", ())
    if settings["types"] == "voted":
        if voted and parameters.get("types", "voted") != "voted":
            raise Refused.saying(
                "types",
                f"types ({parameters['types']!r}): the types of this release were inferred, so they cannot "
                "count as declared. Leave types out, or create a new synthesizer with your own declarations",
            )
        arguments["domain"] = _with_types(arguments["domain"], release, voted)
        # a new fit splits datetime columns again if it infers them again
        arguments["rules"] = [rule for rule in arguments["rules"] if not {*voted} & {*rule.columns}]
    if formats := _number_formats(release, voted):
        file = as_domain_file(arguments["domain"])
        arguments["domain"] = replace(file, columns={**formats, **file.columns})
    arguments |= parameters
    metadata = _metadata(release)
    others = {*release.ledger.assumed_types, *voted}
    columns = metadata_columns(metadata)
    setattr(metadata, DECLARED_TYPES, {n: type_words(spec) for n, spec in columns.items() if n not in others})
    synth = kind(metadata, **arguments)
    if (earlier := synth._fit_template.reused_domain).entries:
        synth._fit_template = replace(synth._fit_template, reused_domain=replace(earlier, anew=True))
    if voted:
        synth._set_metadata(metadata)
    sampler = PrefixSampler(
        model=release.model, seeds=release.seeds, rng=KeyedRNG.from_os_entropy().spawn("sampling"),
        answers=release.answers.answers,
    )  # fmt: skip
    synth._adopt(
        release.schema.dtypes,
        FitResult(
            domain=release.domain, rules=release.rules, sampler=sampler, ledger=release.ledger, charge=None,
            public=settings.get("public_sha256"),
        ),
    )  # fmt: skip
    synth._keep_storage(release.schema.storage)
    synth._returns_dict, synth._frame_kind = settings["returns_tables"], None
    if synth.public is None:
        synth._public_origin = tuple(settings.get(name) for name in ("public_rows", "public_source"))
    own = settings_of(synth)
    if own != release.settings:  # until the next fit; of the replaced parameters only the locales apply
        synth._release_settings = {**release.settings, "locales": own["locales"]}
    return synth


def _charges_before_fit(release: Release) -> PrivacyLedger:
    """Entries from before the first fit, which a new fit charges again, or which end its claim."""
    before = PrivacyLedger(delta=release.ledger.delta, neighbours=release.ledger.neighbours)
    before.charge(
        *(
            entry
            for entry in release.ledger.entries
            if entry.mechanism.startswith(REUSED_PREFIX)
            or (entry.status == "no claim" and "domain" in entry.parts)
        )
    )
    return before


def _declared(release: Release, carried: PrivacyLedger) -> Domain:
    """The declared attributes; a new fit learns the others again."""
    attributes = (*release.domain, *release.rules.made.values())
    declared = [a for a in attributes if a.provenance == "declared"]
    domain = Domain(tuple(without_assumed_format(a, release.ledger) for a in declared))
    return replace(domain, learned=cost_document(carried, ())) if carried.entries else domain


def _with_types(declared: Domain, release: Release, voted: Collection[str]) -> DomainFile:
    """The declared domain with the declared types of all other columns."""
    types = {c.name: dict(c.spec) for c in release.schema.columns if c.name not in voted}
    return DomainFile(columns={**types, **{a.name: a for a in declared}}, learned=declared.learned)


def _number_formats(release: Release, voted: Collection[str]) -> dict[str, dict[str, Any]]:
    """Declared number formats of text columns whose values were learned."""
    return {
        a.name: {"sdtype": "numerical", "number_format": a.number_format}
        for a in (*release.domain, *release.rules.made.values())
        if a.number_format is not None and a.provenance != "declared" and a.name not in voted
    }


def _metadata(release: Release) -> Any:
    schema = release.schema
    table: dict[str, Any] = {"columns": {column.name: dict(column.spec) for column in schema.columns}}
    for attribute in (*release.domain, *release.rules.made.values()):  # formats from a domain file
        if attribute.datetime_format is not None and attribute.name in table["columns"]:
            table["columns"][attribute.name].setdefault("datetime_format", attribute.datetime_format)
    if schema.primary_key is not None:
        table["primary_key"] = _list(schema.primary_key)
    if schema.alternate_keys:
        table["alternate_keys"] = [_list(key) for key in schema.alternate_keys]
    if schema.relationships:
        table["column_relationships"] = [
            {"type": kind, "column_names": list(names)} for kind, names in schema.relationships
        ]
    return metadata_from_table(table, schema.table)


def _list(key: str | tuple[str, ...]) -> Any:
    return list(key) if isinstance(key, tuple) else key


_DAMAGED = (
    pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, KeyError, TypeError,
    ValueError,
)  # fmt: skip
"""Errors of unpickling a file that is damaged, or of another version."""


def load_saved(filepath: str | Path, kind: type[Any]) -> Any:
    """Unpickle a synthesizer of a class; ValueError if the file is damaged or holds something else."""
    if not isinstance(filepath, (str, os.PathLike)):
        raise Refused("filepath", type(filepath), "must be the path of a file that save() wrote")
    path = str(filepath)
    try:
        loaded = load_synthesizer(path)
    except OSError:
        raise
    except _DAMAGED as error:
        if isinstance(error, (ImportError, AttributeError)) and "sdv_plausible" in str(error):
            raise ValueError(
                f"{path!r} was saved by another version of sdv-plausible and cannot be read: sample with "
                "that version, or fit again"
            ) from error
        if isinstance(error, ModuleNotFoundError):
            raise ValueError(f"{path!r} needs a module that is not installed: {error}") from error
        raise ValueError(f"{path!r} is not a saved synthesizer, or is damaged: {error}") from error
    if not isinstance(loaded, kind):
        raise ValueError(f"{path!r} holds a {type(loaded).__name__}, not a {kind.__name__}")
    return loaded
