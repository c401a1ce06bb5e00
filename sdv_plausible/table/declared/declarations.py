"""Read the ``domain`` argument of the synthesizer."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.parameter_checks import Refused, one_of, suggestion, whole
from sdv_plausible.table.cells.canonical_forms import LONGEST_TEXT, is_text
from sdv_plausible.table.columns.cell_reader import ColumnType
from sdv_plausible.table.columns.column_document import TYPE_WORDS, Provenance
from sdv_plausible.table.columns.domain import MOST_BINS, Attribute, Domain
from sdv_plausible.table.columns.domain import SCHEMA as DOMAIN_SCHEMA
from sdv_plausible.table.declared.domain_file import DomainFile, read_json
from sdv_plausible.table.declared.specifications import (
    FORM_WORDS,
    MODELLED_SDTYPES,
    ORIGIN_WORDS,
    check_agreement,
    check_keys,
    check_spec,
    declare,
    declared_attribute,
    declared_provenance,
    partial_declaration_of,
    read_spec,
)
from sdv_plausible.table.learned.private_domain import DomainPlan, LearningBudget

if TYPE_CHECKING:
    from sdv_plausible.table.learned.declared_ranges import DeclaredRange, PartialDeclaration

Types = Literal["declared", "voted", "detected"]
"""Origin of semantic types and date formats: the user, private type inference, or the rows."""
Undeclared = Literal["infer", "private"]
# Assumed numbers of codes of undeclared columns, for forecasts.
USUAL_SIZES = {"boolean": 2, "categorical": 20, "ordinal": 20, "numerical": 100, "datetime": 100}
Specs = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Declarations:
    """A user's declarations by column name, and how to find the domains of other columns."""

    attributes: Mapping[str, Attribute]
    undeclared: Undeclared = "private"
    never_missing: frozenset[str] = frozenset()
    bounds: Mapping[str, DeclaredRange] = field(default_factory=dict)
    origins: Mapping[str, Provenance] = field(default_factory=dict)
    """Columns whose declaration uses the rows: "inferred" by a program, or "edited" after an access."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Cited public sources."""
    number_formats: Mapping[str, str] = field(default_factory=dict)
    """Spellings of numbers stored as text."""
    stated: Mapping[str, PartialDeclaration] = field(default_factory=dict)
    """Partial declarations of columns whose values are open."""

    def plan_private(
        self, specs: Specs, budget: LearningBudget, neighbours: Neighbours = ONE_ROW
    ) -> DomainPlan:
        """Plan the budget for learning domains, from the metadata alone."""
        learned = set(self.bounds)
        if self.undeclared == "private":
            learned |= set(specs) - set(self.attributes)
        columns = {
            name: self.bounds[name].sdtype if name in self.bounds else spec["sdtype"]
            for name, spec in specs.items()
            if name in learned and not spec.get("transformed")
        }
        return DomainPlan.make(
            columns,
            budget,
            declared=len(specs) - len(columns),
            never_missing=self.never_missing,
            neighbours=neighbours,
            bounds={name: bounds for name, bounds in self.bounds.items() if name in columns},
            stated={
                name: partial
                for name, partial in self.stated.items()
                if name in columns and not partial.is_never_missing
            },
        )

    def planned(self, specs: Specs, private: Collection[str] = ()) -> Domain:
        """Domain for planning, with a placeholder of one code for every undeclared column."""
        return Domain(tuple(self.marked(self._planned_attribute(name, name in private)) for name in specs))

    def marked(self, attribute: Attribute) -> Attribute:
        """The attribute with the origin and number format of its declaration."""
        changes: dict[str, Any] = {}
        if origin := self.origins.get(attribute.name):  # bins learned in an edited range are edited
            changes["provenance"] = origin
        if attribute.kind in ("integer", "float") and attribute.name in self.number_formats:
            changes["number_format"] = self.number_formats[attribute.name]
        return replace(attribute, **changes) if changes else attribute

    def kept(self, attribute: Attribute) -> Attribute:
        """Apply a partial declaration to an attribute inferred from the rows."""
        stated = self.stated.get(attribute.name)
        return attribute if stated is None else stated.apply_to(attribute)

    def _planned_attribute(self, name: str, private: bool) -> Attribute:
        if name in self.bounds and private:
            return replace(self.bounds[name].plain, provenance="private")
        return self.known(name) or Attribute.unknown(name, "private" if private else "inferred")

    @property
    def names(self) -> tuple[str, ...]:
        """Declared columns."""
        return (*self.attributes, *self.bounds)

    def allows_missing(self, name: str) -> bool | None:
        """Whether a column's declaration allows missing values; None if it leaves that open."""
        if name in self.bounds:
            return self.bounds[name].nullable
        return self.attributes[name].nullable

    def date_format(self, name: str, spec: Mapping[str, Any]) -> str | None:
        """Date format from the declaration, or else from the metadata."""
        declared = self.known(name)
        return (declared.datetime_format if declared else None) or spec.get("datetime_format")

    def date_formats(
        self, specs: Specs, formats: Mapping[str, str | None], names: Collection[str]
    ) -> dict[str, str | None]:
        """Date formats by column, without columns read from the rows or with a declared time zone."""
        # ``formats``: formats that the rules require.
        date_formats = dict(formats)
        for name, spec in specs.items():
            attribute = self.known(name)
            if name not in date_formats and spec.get("sdtype") == "datetime":
                date_formats[name] = self.date_format(name, spec)
            is_inferred = attribute is None and self.undeclared == "infer"
            has_zone = attribute is not None and attribute.time_zone is not None
            if name not in names or is_inferred or has_zone:
                date_formats.pop(name, None)
        return date_formats

    def known(self, name: str) -> Attribute | None:
        """Declared attribute, in equal bins if its bins are learned; None if undeclared."""
        bounds = self.bounds.get(name)
        attribute = bounds.plain if bounds else self.attributes.get(name)
        return self.marked(attribute) if attribute else None

    @property
    def spelled(self) -> dict[str, ColumnType]:
        """Types of the text columns that are read as numbers."""
        declared = {name: self.known(name) for name in self.number_formats}
        texts = {
            name: declaration.texts if declaration is not None else ()
            for name, declaration in declared.items()
        }
        texts |= {name: declaration.texts for name, declaration in self.stated.items() if name in texts}
        return {
            name: ColumnType(name=name, sdtype="numerical", number_format=number_format, values=texts[name])
            for name, number_format in self.number_formats.items()
        }

    def leads_to(self, attribute: Attribute) -> bool:
        """Whether the attribute is that of its declaration, or its bins were learned in the range."""
        declared, bounds = self.known(attribute.name), self.bounds.get(attribute.name)
        if declared is None or attribute.provenance not in ("declared", *(["private"] if bounds else [])):
            return False
        style = {"time_zone": attribute.time_zone, "datetime_format": attribute.datetime_format}
        expected = replace(declared, provenance=attribute.provenance)
        if declared.kind == "datetime" and declared.time_zone is None:  # the schema has the style of dates
            from sdv_plausible.table.learned.declared_ranges import in_time_zone

            expected = in_time_zone(expected, style)
        return expected == attribute or (bounds is not None and bounds.leads_to(attribute))

    def assumed(self, specs: Specs) -> Domain:
        """Domain for a forecast: undeclared columns get ``USUAL_SIZES``."""
        return Domain(tuple(self.known(name) or _placeholder(name, spec) for name, spec in specs.items()))


def _placeholder(name: str, spec: Mapping[str, Any]) -> Attribute:
    size = USUAL_SIZES.get(spec.get("sdtype", ""), USUAL_SIZES["categorical"])
    return Attribute(name=name, kind="categorical", values=tuple(range(size)), provenance="inferred")


def read_declarations(domain: Any, undeclared: Undeclared, max_bins: int, specs: Specs) -> Declarations:
    """Read the ``domain`` argument of the synthesizer."""
    one_of("undeclared", undeclared, get_args(Undeclared))
    max_bins = whole("max_bins", max_bins, 2, "try 100", most=MOST_BINS)
    spelled = {name: spec["number_format"] for name, spec in specs.items() if spec.get("number_format")}
    if domain is None:
        return Declarations({}, undeclared, number_formats=spelled)
    if uses_metadata_values(domain):
        specs = {name: read_spec(name, spec) for name, spec in specs.items()}
        attributes_or_none = {name: declared_attribute(name, spec, max_bins) for name, spec in specs.items()}
        never_missing = frozenset(
            name for name, spec in specs.items() if spec.get("range_is_nullable") is False
        )
        result = _with_learned_ranges(
            {n: a for n, a in attributes_or_none.items() if a}, specs, undeclared, never_missing
        )
        open_partials = {
            name: partial
            for name, spec in specs.items()
            if (partial := partial_declaration_of(name, spec)) is not None
        }
        return replace(result, number_formats=spelled, stated=open_partials)
    file = as_domain_file(domain)
    declared = file.declarations()
    unknown = sorted(set(declared) - set(specs))
    if unknown:
        hint = suggestion(unknown[0], specs)
        raise Refused.saying(
            "domain", f"domain names {unknown}, which are not columns of the metadata: {sorted(specs)}{hint}"
        )
    attributes: dict[str, Attribute] = {}
    partials: dict[str, PartialDeclaration] = {}
    for name, spec in declared.items():
        if isinstance(spec, Mapping):
            check_agreement(name, spec, specs[name])
        if declares_type_only(name, spec):
            continue
        if (
            isinstance(spec, Mapping)
            and (partial := partial_declaration_of(name, spec, specs[name])) is not None
        ):
            partials[name] = partial
        else:
            attributes[name] = _declare(name, spec, max_bins, specs[name])
    mappings = {name: spec for name, spec in declared.items() if isinstance(spec, Mapping)}
    never_missing = frozenset(name for name, partial in partials.items() if partial.nullable is False)
    for name, attribute in attributes.items():
        _check_texts(name, attribute)
    return replace(
        _with_learned_ranges(attributes, declared, undeclared, never_missing),
        origins={
            name: origin
            for name, spec in mappings.items()
            if (origin := declared_provenance(spec)) and origin != "declared"
        },
        sources={name: spec["source"] for name, spec in mappings.items() if spec.get("source")},
        number_formats={**spelled, **number_formats(declared)},
        stated=partials,
    )


def number_formats(declared: Mapping[str, Any]) -> dict[str, str]:
    """Declared number formats by column."""
    formats = {
        name: spec.number_format if isinstance(spec, Attribute) else spec.get("number_format")
        for name, spec in declared.items()
        if isinstance(spec, (Attribute, Mapping))
    }
    return {name: number_format for name, number_format in formats.items() if number_format is not None}


def _check_texts(name: str, attribute: Attribute) -> None:
    """Reject texts that no file can hold, before the fit spends its budget on them."""
    for text in attribute.values:
        if isinstance(text, str) and not is_text(text):
            raise ValueError(
                f"column {name!r}: {text!r:.60} is longer than {LONGEST_TEXT:,} characters, or contains a "
                "lone surrogate, which a file cannot hold: remove it"
            )


def _with_learned_ranges(
    attributes: Mapping[str, Attribute],
    declared: Mapping[str, Any],
    undeclared: Undeclared,
    never_missing: frozenset[str] = frozenset(),
) -> Declarations:
    """Declarations that learn the bins of wide ranges, unless bins are declared."""
    bounds = {}
    for name, attribute in attributes.items():
        if isinstance(declared[name], Mapping) and attribute.is_wide and declared[name].get("bins") is None:
            from sdv_plausible.table.learned.declared_ranges import declared_range_of  # only if needed

            bounds[name] = declared_range_of(attribute, declared[name])
    fully_declared = {name: attribute for name, attribute in attributes.items() if name not in bounds}
    return Declarations(fully_declared, undeclared, never_missing, bounds)


def uses_metadata_values(domain: Any) -> bool:
    """Whether a ``domain`` argument is "written": the user wrote the metadata's ranges and values."""
    return isinstance(domain, str) and domain == "written"


def explicit_domain_file(domain: Any) -> DomainFile | None:
    """The domain file of a ``domain`` argument; None if it has no declarations besides the metadata."""
    return None if domain is None or uses_metadata_values(domain) else as_domain_file(domain)


def as_domain_file(domain: Any) -> DomainFile:
    """A ``domain`` argument (other than "written") as a domain file."""
    if isinstance(domain, DomainFile):
        return domain
    if isinstance(domain, str) and domain == "metadata":
        raise Refused(
            "domain",
            domain,
            'must be "written", which confirms that you wrote the ranges and values in the metadata',
            "SDV's detection takes them from the rows; in that case leave domain out, or declare them",
        )
    if isinstance(domain, (str, os.PathLike)):
        return _file_at(Path(domain))
    if isinstance(domain, Domain):
        columns = {attribute.name: attribute for attribute in domain}
        return DomainFile(
            columns=columns, learned=domain.learned, looked=domain.looked, looked_rules=domain.looked_rules
        )
    if not isinstance(domain, Mapping):
        raise Refused("domain", type(domain), 'must be "written", a Domain, a mapping or a path')
    return DomainFile.of(domain, "domain")


def with_access_record(
    domain: Domain, names: Collection[str], rules: Collection[str] | None = None
) -> Domain:
    """The domain with an access record of these columns, as :meth:`DomainFile.looked_at`."""
    file = as_domain_file(domain).looked_at(names, rules)
    return replace(domain, looked=file.looked, looked_rules=file.looked_rules)


def declares_type_only(name: str, spec: Any) -> bool:
    """Whether a declaration has a type, such as id, but no values."""
    if not isinstance(spec, Mapping):
        return False
    check_keys(name, spec)
    check_spec(name, spec)
    keys = {key for key, value in spec.items() if value is not None}
    return (
        "sdtype" in keys and spec["sdtype"] != "boolean" and keys <= {*TYPE_WORDS, *FORM_WORDS, *ORIGIN_WORDS}
    )


def _declare(name: str, spec: Any, max_bins: int, metadata_spec: Mapping[str, Any]) -> Attribute:
    # Ranges, precision and missing cells in the metadata may have been detected in the rows: not used here.
    sdtype, date_format = metadata_spec.get("sdtype"), metadata_spec.get("datetime_format")
    if sdtype is not None and sdtype not in MODELLED_SDTYPES:
        raise Refused.saying(
            "domain",
            f"domain of column {name!r} ({spec!r}) has no effect: columns of this sdtype ({sdtype!r}) get "
            "placeholder values and are not modelled. Set the sdtype to categorical or numerical in the "
            "metadata (metadata.update_column), or remove the declaration",
        )
    if isinstance(spec, (Attribute, Mapping)):
        check_agreement(name, spec, metadata_spec)
    if isinstance(spec, Attribute):
        return spec
    if isinstance(spec, Mapping) and date_format:
        spec = {"datetime_format": date_format, **spec}
    return declare(name, spec, sdtype, max_bins)


def _is_learned(declaration: Any) -> bool:
    """Whether a declaration or attribute was learned privately."""
    if isinstance(declaration, Attribute):
        return declaration.provenance == "private"
    return isinstance(declaration, Mapping) and declaration.get("provenance") == "private"


def _file_at(path: Path) -> DomainFile:
    """Read a file of ``Domain.save``, a domain file, or a bare mapping as JSON."""
    document, name = read_json(path), f"domain ({str(path)!r})"
    try:
        if isinstance(document, dict) and document and document.get("schema") != DOMAIN_SCHEMA:
            file = DomainFile.of(document, name)
        else:
            file = as_domain_file(Domain.from_dict(document))
        # Check declarations here, where errors can name the file. The fit checks the cost of learned columns.
        declared = {
            name: declaration for name, declaration in file.columns.items() if not _is_learned(declaration)
        }
        replace(file, columns=declared).without_blanks().declarations()
    except ValueError as error:
        if name in str(error):
            raise
        field = error.field if isinstance(error, Refused) else "domain"
        raise Refused.saying(field, f"{name}: {error}") from error
    return file
