"""What a user declared: the ``domain`` argument of the synthesizer."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.parameter_checks import Refused, one_of, suggestion, whole
from sdv_plausible.table.cells.canonical_forms import LONGEST_TEXT, is_text
from sdv_plausible.table.columns.cell_reader import ColumnType
from sdv_plausible.table.columns.column_document import TYPE_WORDS, Provenance
from sdv_plausible.table.columns.domain import MOST_BINS, Attribute, Domain
from sdv_plausible.table.columns.domain import SCHEMA as DOMAIN_SCHEMA
from sdv_plausible.table.declared.domain_file import DomainFile, read_json
from sdv_plausible.table.declared.spec_words import (
    FORM_WORDS,
    MODELLED_SDTYPES,
    ORIGIN_WORDS,
    check_agreement,
    check_keys,
    check_words,
    read_words,
)
from sdv_plausible.table.declared.specifications import declare, declared_attribute, origin_of, stated_of
from sdv_plausible.table.learned.declared_ranges import DeclaredRange, bounds_of, in_zone, is_wide
from sdv_plausible.table.learned.partial_declarations import PartialDeclaration
from sdv_plausible.table.learned.private_domain import DomainPlan, LearningBudget

Types = Literal["declared", "voted", "detected"]
"""Where a table's semantic types and date formats are from: the user, a vote in the fit, or the rows."""
Undeclared = Literal["infer", "private"]
USUAL_SIZES = {
    "boolean": 2,
    "categorical": 20,
    "ordinal": 20,
    "numerical": 100,
    "datetime": 100,
}  # of undeclared columns
Specs = Mapping[str, Mapping[str, Any]]
_NEVER = PartialDeclaration(nullable=False)  # which ``never_missing`` says


@dataclass(frozen=True)
class Declarations:
    """What the user declared: attributes by column name, and how the other columns' domains are found."""

    attributes: Mapping[str, Attribute]
    undeclared: Undeclared = "private"
    never_missing: frozenset[str] = frozenset()
    bounds: Mapping[str, DeclaredRange] = field(default_factory=dict)
    origins: Mapping[str, Provenance] = field(default_factory=dict)
    """Of columns whose words were read off the rows: "inferred" by a program, or "edited" after a look."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Public sources that were cited."""
    number_formats: Mapping[str, str] = field(default_factory=dict)
    """Spellings of numbers that are text, of columns whose values may be open."""
    stated: Mapping[str, PartialDeclaration] = field(default_factory=dict)
    """What is declared of columns whose values are open."""

    def plan_private(
        self, specs: Specs, whole: LearningBudget, neighbours: Neighbours = ONE_ROW
    ) -> DomainPlan:
        """Plan what learning domains costs, with bounds or without, from the metadata alone."""
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
            whole,
            declared=len(specs) - len(columns),
            never_missing=self.never_missing,
            neighbours=neighbours,
            bounds={name: bounds for name, bounds in self.bounds.items() if name in columns},
            stated={n: one for n, one in self.stated.items() if n in columns and one != _NEVER},
        )

    def planned(self, specs: Specs, private: Collection[str] = ()) -> Domain:
        """Domain for planning."""
        # Undeclared columns stand in with one code each, marked as private or inferred.
        return Domain(tuple(self.marked(self._planned(name, name in private)) for name in specs))

    def marked(self, attribute: Attribute) -> Attribute:
        """An attribute with what is known of its words: their origin, and how its numbers are spelled."""
        found: dict[str, Any] = {}
        if origin := self.origins.get(attribute.name):  # bins learned in edited bounds are edited
            found["provenance"] = origin
        if attribute.kind in ("integer", "float") and attribute.name in self.number_formats:
            found["number_format"] = self.number_formats[attribute.name]
        return replace(attribute, **found) if found else attribute

    def kept(self, attribute: Attribute) -> Attribute:
        """An attribute that was read off the rows, with what is declared of it."""
        stated = self.stated.get(attribute.name)
        return attribute if stated is None else stated.kept(attribute)

    def _planned(self, name: str, private: bool) -> Attribute:
        if name in self.bounds and private:
            return replace(self.bounds[name].plain, provenance="private")
        return self.known(name) or Attribute.unknown(name, "private" if private else "inferred")

    @property
    def names(self) -> tuple[str, ...]:
        """Declared columns."""
        return (*self.attributes, *self.bounds)

    def says_missing(self, name: str) -> bool | None:
        """Whether a column's declaration allows missing values; None where it leaves that open."""
        if name in self.bounds:
            return self.bounds[name].nullable
        return self.attributes[name].nullable

    def date_format(self, name: str, spec: Mapping[str, Any]) -> str | None:
        """Format of a column's dates: the declaration's, else that of its metadata."""
        known = self.known(name)
        return (known.datetime_format if known else None) or spec.get("datetime_format")

    def date_formats(
        self, specs: Specs, formats: Mapping[str, str | None], names: Collection[str]
    ) -> dict[str, str | None]:
        """Formats of a table's dates, but for those read off the rows or with a zone declared."""
        # ``formats``: those that the rules know.
        found = dict(formats)
        for name, spec in specs.items():
            attribute = self.known(name)
            if name not in found and spec.get("sdtype") == "datetime":
                found[name] = self.date_format(name, spec)
            open_ = attribute is None and self.undeclared == "infer"
            if name not in names or open_ or (attribute is not None and attribute.time_zone is not None):
                found.pop(name, None)
        return found

    def known(self, name: str) -> Attribute | None:
        """Attribute known without a look at the rows; of declared bounds, their equal bins."""
        bounds = self.bounds.get(name)
        known = bounds.plain if bounds else self.attributes.get(name)
        return self.marked(known) if known else None

    @property
    def spelled(self) -> dict[str, ColumnType]:
        """Columns of text that are numbers, as what they are read."""
        known = {name: self.known(name) for name in self.number_formats}
        texts = {name: one.texts if one is not None else () for name, one in known.items()}
        texts |= {name: one.texts for name, one in self.stated.items() if name in texts}
        return {
            name: ColumnType(name=name, sdtype="numerical", number_format=form, values=texts[name])
            for name, form in self.number_formats.items()
        }

    def leads_to(self, attribute: Attribute) -> bool:
        """Whether a column's declaration comes to this attribute, or its bins were learned in the range."""
        known, bounds = self.known(attribute.name), self.bounds.get(attribute.name)
        if known is None or attribute.provenance not in ("declared", *(["private"] if bounds else [])):
            return False
        style = {"time_zone": attribute.time_zone, "datetime_format": attribute.datetime_format}
        same = replace(known, provenance=attribute.provenance)
        if (
            known.kind == "datetime" and known.time_zone is None
        ):  # how dates are written is the table's schema
            same = in_zone(same, style)
        return same == attribute or (bounds is not None and bounds.leads_to(attribute))

    def assumed(self, specs: Specs) -> Domain:
        """Domain for a forecast: undeclared columns with a usual number of codes."""
        return Domain(tuple(self.known(name) or _usual(name, spec) for name, spec in specs.items()))


def _usual(name: str, spec: Mapping[str, Any]) -> Attribute:
    size = USUAL_SIZES.get(spec.get("sdtype", ""), USUAL_SIZES["categorical"])
    return Attribute(name=name, kind="categorical", values=tuple(range(size)), provenance="inferred")


def read_declarations(domain: Any, undeclared: Undeclared, max_bins: int, specs: Specs) -> Declarations:
    """Read the ``domain`` argument of the synthesizer."""
    one_of("undeclared", undeclared, get_args(Undeclared))
    max_bins = whole("max_bins", max_bins, 2, "try 100", most=MOST_BINS)
    spelled = {name: spec["number_format"] for name, spec in specs.items() if spec.get("number_format")}
    if domain is None:
        return Declarations({}, undeclared, number_formats=spelled)
    if says_written(domain):
        specs = {name: read_words(name, spec) for name, spec in specs.items()}
        found = {name: declared_attribute(name, spec, max_bins) for name, spec in specs.items()}
        never = frozenset(name for name, spec in specs.items() if spec.get("range_is_nullable") is False)
        read = _sorted_out({n: a for n, a in found.items() if a}, specs, undeclared, never)
        open_ = {name: one for name, spec in specs.items() if (one := stated_of(name, spec)) is not None}
        return replace(read, number_formats=spelled, stated=open_)
    file = domain_document(domain)
    given = file.declarations()
    unknown = sorted(set(given) - set(specs))
    if unknown:
        hint = suggestion(unknown[0], specs)
        raise Refused.saying(
            "domain", f"domain names {unknown}, which are not columns of the metadata: {sorted(specs)}{hint}"
        )
    attributes: dict[str, Attribute] = {}
    stated: dict[str, PartialDeclaration] = {}
    for name, spec in given.items():
        if isinstance(spec, Mapping):
            check_agreement(name, spec, specs[name])
        if says_type_alone(name, spec):
            continue
        if isinstance(spec, Mapping) and (one := stated_of(name, spec, specs[name])) is not None:
            stated[name] = one
        else:
            attributes[name] = _declare(name, spec, max_bins, specs[name])
    words = {name: spec for name, spec in given.items() if isinstance(spec, Mapping)}
    never = frozenset(name for name, one in stated.items() if one.nullable is False)
    for name, attribute in attributes.items():
        _check_texts(name, attribute)
    return replace(
        _sorted_out(attributes, given, undeclared, never),
        origins={
            name: origin
            for name, spec in words.items()
            if (origin := origin_of(spec)) and origin != "declared"
        },
        sources={name: spec["source"] for name, spec in words.items() if spec.get("source")},
        number_formats={**spelled, **number_formats(given)},
        stated=stated,
    )


def number_formats(given: Mapping[str, Any]) -> dict[str, str]:
    """Spellings of numbers that declarations say."""
    said = {
        name: spec.number_format if isinstance(spec, Attribute) else spec.get("number_format")
        for name, spec in given.items()
        if isinstance(spec, (Attribute, Mapping))
    }
    return {name: form for name, form in said.items() if form is not None}


def _check_texts(name: str, attribute: Attribute) -> None:
    """Refuse texts that no file can hold: the fit would be paid, and its release lost."""
    for text in attribute.values:
        if isinstance(text, str) and not is_text(text):
            raise ValueError(
                f"column {name!r}: {text!r:.60} is longer than {LONGEST_TEXT:,} letters, or holds half a "
                "character (a lone surrogate), which no file can hold: leave it out"
            )


def _sorted_out(
    attributes: Mapping[str, Attribute],
    given: Mapping[str, Any],
    undeclared: Undeclared,
    never_missing: frozenset[str] = frozenset(),
) -> Declarations:
    """Declarations with wide ranges as bounds, unless their bins were declared too."""
    bounds = {
        name: bounds_of(attribute, given[name])
        for name, attribute in attributes.items()
        if isinstance(given[name], Mapping) and is_wide(attribute) and given[name].get("bins") is None
    }
    fixed = {name: attribute for name, attribute in attributes.items() if name not in bounds}
    return Declarations(fixed, undeclared, never_missing, bounds)


def says_written(domain: Any) -> bool:
    """Whether a ``domain`` argument is the word that ranges and values were written in the metadata."""
    return isinstance(domain, str) and domain == "written"


def given_file(domain: Any) -> DomainFile | None:
    """The declarations of a ``domain`` argument; None where there are none beside the metadata."""
    return None if domain is None or says_written(domain) else domain_document(domain)


def domain_document(domain: Any) -> DomainFile:
    """The domain file that the ``domain`` argument (all but "written") is, names, or would be."""
    if isinstance(domain, DomainFile):
        return domain
    if isinstance(domain, str) and domain == "metadata":
        raise Refused(
            "domain",
            domain,
            'must be "written", your word that you wrote the ranges and values in the metadata',
            "SDV's detection writes those of the rows; leave domain out then, or declare",
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


def looked_at(domain: Domain, names: Collection[str], rules: Collection[str] | None = None) -> Domain:
    """The domain after these columns were compared with rows, as :meth:`DomainFile.looked_at`."""
    file = domain_document(domain).looked_at(names, rules)
    return replace(domain, looked=file.looked, looked_rules=file.looked_rules)


def says_type_alone(name: str, spec: Any) -> bool:
    """Whether a declaration says what a column is, such as an id, but not which values it may hold."""
    if not isinstance(spec, Mapping):
        return False
    check_keys(name, spec)
    check_words(name, spec)
    words = {key for key, value in spec.items() if value is not None}
    return (
        "sdtype" in words
        and spec["sdtype"] != "boolean"
        and words <= {*TYPE_WORDS, *FORM_WORDS, *ORIGIN_WORDS}
    )


def _declare(name: str, spec: Any, max_bins: int, known: Mapping[str, Any]) -> Attribute:
    # Ranges, digits and missingness in the metadata may have been detected, that is, read off the rows: not
    # used here.
    sdtype, form = known.get("sdtype"), known.get("datetime_format")
    if sdtype is not None and sdtype not in MODELLED_SDTYPES:
        raise Refused.saying(
            "domain",
            f"domain of column {name!r} ({spec!r}) fixes no values: the column's sdtype ({sdtype!r}) is "
            "invented, not modelled. Set it to categorical or numerical in the metadata "
            "(metadata.update_column), or leave the column out",
        )
    if isinstance(spec, (Attribute, Mapping)):
        check_agreement(name, spec, known)
    if isinstance(spec, Attribute):
        return spec
    if isinstance(spec, Mapping) and form:
        spec = {"datetime_format": form, **spec}
    return declare(name, spec, sdtype, max_bins)


def _is_learned(words: Any) -> bool:
    """Whether a column was learned privately, in words or finished."""
    if isinstance(words, Attribute):
        return words.provenance == "private"
    return isinstance(words, Mapping) and words.get("provenance") == "private"


def _file_at(path: Path) -> DomainFile:
    """A file by ``Domain.save``, a domain file, or a bare mapping as JSON."""
    document, name = read_json(path), f"domain ({str(path)!r})"
    try:
        if isinstance(document, dict) and document and document.get("schema") != DOMAIN_SCHEMA:
            file = DomainFile.of(document, name)
        else:
            file = domain_document(Domain.from_dict(document))
        # What learned columns cost is asked for by the fit; of others a fault is met while the file is known.
        told = {name: one for name, one in file.columns.items() if not _is_learned(one)}
        replace(file, columns=told).without_blanks().declarations()
    except ValueError as error:
        if name in str(error):
            raise
        field = error.field if isinstance(error, Refused) else "domain"
        raise Refused.saying(field, f"{name}: {error}") from error
    return file
