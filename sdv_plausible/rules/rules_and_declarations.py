"""Rules combined with declarations: the model's columns, and the rules' ledger entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

import sdv_plausible.rules as kinds
from sdv_plausible.privacy.accounting.losses import InfiniteLoss, Loss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.rules.rule import ColumnSpec, DerivingRule, Rule
from sdv_plausible.rules.rule_files import read_rules
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.table.cells.dates import shows_time
from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.table.data_checks import Check, Finding, check_columns
from sdv_plausible.table.declared.declarations import explicit_domain_file, uses_metadata_values
from sdv_plausible.table.declared.domain_file import DomainFile, digest
from sdv_plausible.table.declared.specifications import (
    FORM_WORDS,
    MODELLED_SDTYPES,
    VALUE_WORDS,
    check_agreement,
    check_spec,
    declare,
    declared_provenance,
    partial_declaration_of,
    sdtype_of,
)

_STATED = {"range_min", "range_max", "range_values", "range_is_nullable", "special_values"}
"""Words that describe a surrogate's values."""


def rules_with_declarations(
    rules: Any,
    domain: Any,
    columns: Mapping[str, Mapping[str, Any]],
    max_bins: int,
    *,
    split_dates: bool = True,
) -> tuple[Any, dict[str, ColumnSpec], RuleSet]:
    """Parse rules; return the declarations and columns for the model, and the rule set."""
    # ``rules`` and ``domain`` are the synthesizer's arguments, ``columns`` the metadata's. The results
    # describe the model's columns: with surrogates instead of derived columns. With ``split_dates``, dates
    # that show a time of day are split automatically.
    known = {name: dict(spec) for name, spec in columns.items()}
    is_trusted, file = uses_metadata_values(domain), explicit_domain_file(domain) or DomainFile(columns={})
    declared = file.declarations()
    specs = {
        name: _known_spec(spec if is_trusted else _type_spec(spec), declared.get(name))
        for name, spec in columns.items()
        if spec.get("sdtype") in MODELLED_SDTYPES
    }
    all_rules = read_rules(rules)
    history = _history(all_rules, file)
    all_rules += _implied(all_rules, specs, declared, split_dates=split_dates)
    if not all_rules:
        return domain, known, replace(RuleSet(), **history)
    rule_set = replace(RuleSet.make(all_rules, specs, columns), **history)
    seen = [
        name for rule in rule_set.deriving_rules for name in rule.columns if _was_seen(declared.get(name))
    ]
    rule_set = replace(rule_set, seen=tuple(dict.fromkeys(seen)))
    for name in rule_set.made:
        if name in declared:
            spec = declared[name]
            check_agreement(name, spec, known[name])
            says_values = not isinstance(spec, Attribute) and any(word in spec for word in VALUE_WORDS)
            if says_values and partial_declaration_of(name, spec, known[name]) is None:
                declare(name, {**_type_spec(known[name]), **spec}, known[name].get("sdtype"), max_bins)
    model_columns = rule_set.model_columns(known)
    if not is_trusted:
        modelled = {name: spec for name, spec in file.columns.items() if name not in rule_set.made}
        domain = replace(file, columns={**_surrogate_specs(rule_set, specs), **modelled})
    return domain, model_columns, rule_set


def rule_digests(rules: Any) -> tuple[str, ...]:
    """Digests of rules, for the access log."""
    return tuple(digest(rule.to_dict()) for rule in read_rules(rules))


def _history(rules: Sequence[Any], file: DomainFile) -> dict[str, Any]:
    """Digests of the rules, and whether they were edited after a comparison with the rows."""
    digests = rule_digests(rules)
    edited = file.has_other_rules(digests) and file.rules_source is None
    return {"digests": digests, "edited": edited, "source": file.rules_source}


def _implied(
    rules: Sequence[Any], specs: Mapping[str, ColumnSpec], declared: Mapping[str, Any], *, split_dates: bool
) -> list[Rule]:
    """Rules implied by declarations and formats, for columns that no given rule derives."""
    derived = {name for rule in rules if isinstance(rule, DerivingRule) for name in rule.made}
    implied: list[Rule] = []
    for name, spec in specs.items():
        if name in derived or isinstance(declared.get(name), Attribute):
            continue
        check_spec(name, {word: spec.get(word) for word in ("sdtype", *FORM_WORDS)})
        step = spec.get("resolution")
        if spec.get("sdtype") == "numerical" and step is not None:
            implied.append(kinds.Multiple(name, step))
        elif spec.get("sdtype") == "datetime" and _is_split(spec, split_dates):
            implied.append(kinds.DateAndTime(name, step))
    return implied


def _was_seen(declared: Any) -> bool:
    """Whether a column's declaration was inferred from the rows, or edited after a comparison with them."""
    provenance = declared.provenance if isinstance(declared, Attribute) else declared_provenance(declared)
    return provenance in ("edited", "inferred")


def _is_split(spec: ColumnSpec, split_dates: bool) -> bool:
    """Whether a column is split into date and time of day; decided from declarations alone."""
    if spec.get("parts") is not None:
        return bool(spec["parts"] == "split")
    has_values = any(spec.get(word) is not None for word in ("bins", "buckets")) or spec.get("special_values")
    if has_values or not split_dates:
        return False
    step = spec.get("resolution")
    return step != "D" if step is not None else shows_time(spec.get("datetime_format"))


def _surrogate_specs(rule_set: RuleSet, specs: Mapping[str, ColumnSpec]) -> dict[str, ColumnSpec]:
    """Declarations of surrogates with known values; they inherit the end of the privacy claim."""
    surrogates = {}
    for rule in rule_set.deriving_rules:
        source_specs = [specs[name] for name in rule.columns]
        claim_end: ColumnSpec = (
            {"detected": True} if any(spec.get("detected") for spec in source_specs) else {}
        )
        if any(spec.get("provenance") == "edited" for spec in source_specs):
            claim_end["provenance"] = "edited"
        for name, spec in rule.surrogate_specs(specs).items():
            if _STATED & set(spec):
                surrogates[name] = {**spec, **claim_end}
    return surrogates


def _type_spec(spec: Mapping[str, Any]) -> ColumnSpec:
    """Metadata of a column that is never inferred from the rows: sdtype and date format."""
    return {word: spec[word] for word in ("sdtype", "datetime_format") if spec.get(word) is not None}


def _known_spec(spec: Mapping[str, Any], declared: Any) -> ColumnSpec:
    """Everything known of a column, as a declaration."""
    if declared is None:
        return dict(spec)
    if not isinstance(declared, Attribute):
        return {**spec, **declared} if isinstance(declared, Mapping) else dict(spec)
    if declared.number_format is not None:
        spec = {**spec, "number_format": declared.number_format}
    if declared.provenance == "private":  # its values depend on the rows
        return {"sdtype": sdtype_of(declared), **spec}
    known: ColumnSpec = {"sdtype": sdtype_of(declared), "range_is_nullable": declared.nullable}
    if declared.provenance in ("edited", "inferred"):
        known["provenance"] = "edited"
    if declared.kind in ("categorical", "ordinal"):
        return {**spec, **known, "range_values": list(declared.values)}
    if declared.lower:
        ends: tuple[Any, Any] = (declared.lower[0], declared.upper[-1])
        if declared.kind == "datetime":
            ends = (pd.Timestamp(ends[0]), pd.Timestamp(ends[1]))
        known |= {"range_min": ends[0], "range_max": ends[1]}
    if declared.decimals is not None or declared.kind == "integer":
        known["decimal_places"] = declared.decimals or 0
    return {**spec, **known}


def rule_labels(rules: Sequence[Rule]) -> tuple[str, str]:
    """How a ledger names declared rules, and rules edited after a comparison with the rows."""
    names = "; ".join(map(str, rules)) or "none is left"
    return f"declared: {names}", f"changed after a comparison with the rows: {names}"


def rule_entries(rule_set: RuleSet) -> list[LedgerEntry]:
    """Ledger entries of rules: free if declared, without a privacy claim if edited after a comparison."""
    if not rule_set and not rule_set.edited:
        return []
    declared, changed = rule_labels(rule_set.rules)
    losses: tuple[Loss, ...] = ()
    if rule_set.edited:
        losses, mechanism = (InfiniteLoss(),), changed
        note = (
            "the rules were changed after the rows that break them were counted, and may repeat values of "
            "the rows: restore the rules, or name their public source (rules_source in the domain file)"
        )
    else:
        mechanism, note = declared, f"from {rule_set.source}" if rule_set.source else ""
    entries = [
        LedgerEntry(
            name="rules", mechanism=mechanism, losses=losses, scope="every row", parts=("domain",), note=note
        )
    ]
    if rule_set.seen:  # a rule may use their ranges, digits or resolution
        names = ", ".join(rule_set.seen[:6])
        entries.append(
            LedgerEntry(
                name="rules",
                mechanism="based on declarations that come from the rows, or were edited after a "
                f"comparison with the rows: {names}",
                losses=(InfiniteLoss(),),
                scope="every row",
                parts=("domain",),
                note=f"the declarations of {names} may repeat values of the rows: restore them, or cite a "
                "public source for each column (source)",
            )
        )
    return entries


def check_rows(
    rule_set: RuleSet, declared: Mapping[str, tuple[Attribute, bool | None]], table: pd.DataFrame,
    show: Callable[[str], object],
) -> tuple[Check, set[str]]:  # fmt: skip
    """Compare rows with declarations and rules. Not private."""
    # ``declared``: attribute and declared nullability of every declared column that the model sees. The
    # second result names the checked columns, directly or by a surrogate or rule: that all their cells fit is
    # reported, too. Columns with undeclared values are not among them.
    known = {name: attribute for name, (attribute, _) in declared.items()}
    nullable = {name: missing for name, (_, missing) in declared.items()}
    columns_check = check_columns(rule_set.fold(table), known, nullable, show)
    check = Check((*columns_check.findings, *rule_findings(rule_set, table)))
    modelled = set(declared) - set(rule_set.added)
    return check, modelled.union(*(rule.columns for rule in rule_set.rules if _can_misfit(rule, nullable)))


def _can_misfit(rule: Rule, nullable: Mapping[str, bool | None]) -> bool:
    """Whether a row can break a rule or its surrogates; undeclared dates with times cannot."""
    return (
        not isinstance(rule, kinds.DateAndTime)
        or rule.date in nullable
        or nullable.get(rule.time) is not None
    )


def rule_findings(rule_set: RuleSet, table: pd.DataFrame) -> list[Finding]:
    """Rules that rows break, with counts. Not private."""
    findings = []
    for rule, broken in rule_set.broken(table).items():
        rows = int(broken.sum())
        if rows:
            is_deriving = isinstance(rule, DerivingRule)
            what = (
                "counts as the nearest row that satisfies it"
                if is_deriving
                else "counts, but is never generated"
            )
            problem = f"break the rule; such a row {what}"
            findings.append(Finding(f"rule '{rule}'", problem, rows, rows / len(table)))
    return findings
