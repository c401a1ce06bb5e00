"""Cells that a declared domain does not hold. For the data holder only: nothing here is private."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.privacy.checks import Refused
from sdv_plausible.table.cells.series import plain_cells
from sdv_plausible.table.codec import ColumnCodec
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.declared.declarations import says_type_alone


def count_outside(
    table: pd.DataFrame, domain: Domain | Mapping[str, Any], sdtypes: Mapping[str, str] | None = None
) -> dict[str, int]:
    """Count the cells outside the domain. Looks at the rows without noise: for the data holder only.

    Parameters
    ----------
    table : pandas.DataFrame
        The real rows.
    domain : Domain or mapping
        What the synthesizer is given: a Domain, or a declaration for each column
        (:meth:`Domain.from_declarations`).
    sdtypes : mapping, optional
        Column name -> sdtype, for declarations that do not tell it, such as ``{}`` of a boolean.

    Returns
    -------
    dict
        Number of such cells by column, of the columns that have any.

    Raises
    ------
    ValueError
        If a declaration cannot be read, or names no column of the table.
    """
    if not isinstance(domain, Domain):
        domain = {name: spec for name, spec in domain.items() if not says_type_alone(name, spec)}
        domain = Domain.from_declarations(domain, sdtypes)
    absent = sorted(set(domain.names) - set(table.columns))
    if absent:
        raise Refused.saying(
            "domain", f"domain names {absent}, which are not columns of the table: {list(table.columns)}"
        )
    table = plain_cells(table[list(domain.names)])
    counts = {a.name: int(is_outside(table[a.name], a).sum()) for a in domain}
    return {name: count for name, count in counts.items() if count}


def is_outside(column: pd.Series[Any], attribute: Attribute) -> np.ndarray:
    """Mask of cells that the attribute does not hold: also missing ones, where missing is no value of it."""
    codec = ColumnCodec(attribute)
    codes, present = codec.encode(column), column.notna().to_numpy()
    outside = (codes < 0) | ((codes == attribute.missing_code) & present)
    if attribute.lower:
        numbers = codec.numbers(column)
        with np.errstate(invalid="ignore"):
            outside |= ((numbers < attribute.lower[0]) | (numbers > attribute.upper[-1])) & present
    return np.asarray(outside)
