"""Input of a fit: checks that read no row, and the parts of a :class:`Fit` that a synthesizer keeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

import sdv_plausible.rules as kinds
from sdv_plausible.fitting.column_specs import ColumnSpecs
from sdv_plausible.fitting.fit import Fit
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.sdv.metadata import modelled_sdtypes
from sdv_plausible.table.cells.cell_series import numbers_without_texts
from sdv_plausible.table.columns.column_document import type_words_by_column
from sdv_plausible.table.declared.declarations import Declarations, uses_metadata_values
from sdv_plausible.table.files.storage_types import PERSON_SDTYPE, check_storage


def check_stored(
    data: Any,
    specs: Mapping[str, Mapping[str, Any]],
    keys: Collection[str],
    person: str | None,
    *,
    sees_cells: bool = False,
) -> None:
    """Reject columns of a pandas frame whose dtype prevents reading their cells."""
    if not isinstance(data, pd.DataFrame):
        return
    frame, sdtypes = data.rename(columns=str), modelled_sdtypes(specs, keys)
    if person is not None:
        sdtypes = {**sdtypes, person: PERSON_SDTYPE}
    counts = Counter(frame.columns)  # duplicate names are rejected elsewhere
    unique = {name: sdtype for name, sdtype in sdtypes.items() if counts[name] == 1}
    check_storage(frame, unique, sees_cells=sees_cells)


def check_unchanged(original: Any, current: Collection[Any]) -> None:
    """Reject metadata that was changed after construction."""
    # SDV 1.38 may hold an object of its older metadata class, whose document has another form.
    if any(type(one) is type(original) and one.to_dict() != original.to_dict() for one in current):
        raise ValueError(
            "metadata was changed after this synthesizer was created. Create a new one: "
            "PlausibleDeniabilitySynthesizer(metadata, ...)"
        )


def check_types_declared(fit: Fit) -> None:
    """Reject the steps of SDV's processing while column types are still to be inferred."""
    if fit.column_specs.open:
        raise Refused.saying(
            "types",
            'types ("voted"): only fit() infers types, before SDV, its constraints or custom transformers '
            "see a row. Call fit(), replace constraints by rules=[...], or declare the types",
        )


def check_no_person(fit: Fit) -> None:
    """Reject processed rows where a budget pays for a guarantee per person."""
    if (person := fit.settings.neighbours.person) is not None:
        raise Refused.saying(
            "person",
            f"person ({person!r}): processed rows do not identify persons, and a fit without a privacy "
            "guarantee cannot draw from a budget: call fit()",
        )


def schema_only(fit: Fit, max_bins: int) -> Fit:
    """The fit without the details of the metadata, which may hold values of rows."""
    specs = fit.column_specs
    splits_dates = specs.split_dates and any(
        isinstance(r, kinds.DateAndTime) for r in fit.rules.deriving_rules
    )
    if not (specs.open or splits_dates):  # nothing reads them again
        specs = ColumnSpecs(columns={}, max_bins=max_bins, split_dates=False)
    if not uses_metadata_values(specs.domain):
        specs = replace(specs, columns=type_words_by_column(specs.columns))
    return replace(fit, column_specs=specs, specs={})


def with_unsplit_dates(fit: Fit) -> Fit:
    """The fit in which a datetime column stays one column."""
    specs = replace(fit.column_specs, split_dates=False)
    declared, rules, _ = specs.read()
    return replace(fit, column_specs=specs, declared=declared, rules=rules)


def without_special_texts(
    frame: pd.DataFrame, declared: Declarations, names: Collection[str]
) -> pd.DataFrame:
    """The table with declared texts of numerical columns as missing, so that SDV can validate numbers."""
    attributes = {name: declared.known(name) for name in names}
    texts = {
        name: attribute.texts
        for name, attribute in attributes.items()
        if attribute is not None and attribute.kind != "datetime" and attribute.texts
    }
    if not texts:
        return frame
    return frame.apply(lambda c: numbers_without_texts(c, texts[str(c.name)]) if str(c.name) in texts else c)
