"""Importers of published counts: plain files, OpenDP, Tumult Analytics, and SDMX-CSV."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sdv_plausible.extensions.published_counts.stated_counts import StatedCounts
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.parameter_checks import Refused, listed
from sdv_plausible.table.files.text_files import is_parquet
from sdv_plausible.utils.file_paths import check_regular_file, open_regular_file

STRUCTURE = ("DATAFLOW", "STRUCTURE")  # first column header of SDMX-CSV 1 and 2
NOT_DIMENSIONS = ("DATAFLOW", "STRUCTURE", "ACTION", "SERIES_KEY", "OBS_KEY")  # columns before dimensions
VALUE = "OBS_VALUE"
TOTALS = ("_T", "TOTAL", "T")
MISSING_STATUS = ("M", "O", "L", "NaN")  # OBS_STATUS of missing values


def read_counts(path: str | Path, count: str = "count", **stated: Any) -> StatedCounts:
    """Read a CSV or Parquet table of counts, one row per cell.

    Parameters
    ----------
    path : str or Path
        The file. CSV files use commas.
    count : str
        Name of the column of counts.
    **stated
        Parameters of :class:`~sdv_plausible.StatedCounts`; ``scale="standard_error"`` names a column of the
        file.

    Returns
    -------
    StatedCounts
        The counts.

    Raises
    ------
    ValueError
        If the file lacks a column, or a parameter is invalid.
    """
    check_regular_file(path)
    table = pd.read_parquet(path) if is_parquet(path) else _texts(path, ",")
    return StatedCounts(table=table, count=count, **stated)


def counts_of_opendp(released: Any, summary: Any, count: str = "len", **stated: Any) -> StatedCounts:
    """Import the release of an OpenDP query that groups and counts.

    Parameters
    ----------
    released : polars or pandas DataFrame
        ``query.release().collect()``: one row per group.
    summary : polars or pandas DataFrame
        ``query.summarize()``: the noise of every column.
    count : str
        Name of the column of counts.
    **stated
        Parameters of :class:`~sdv_plausible.StatedCounts` except noise and scale.

    Returns
    -------
    StatedCounts
        The counts.

    Raises
    ------
    ValueError
        If the summary has no noise for that column.
    """
    table, noise_table = _pandas("released", released), _pandas("summary", summary)
    check.require_columns("summary", ["column", "distribution", "scale"], [*noise_table])
    lines = noise_table[noise_table["column"] == count]
    law = str(lines["distribution"].iloc[0]).split()[-1].lower() if len(lines) == 1 else ""
    if law not in ("gaussian", "laplace"):
        rule = f"must say the noise of {count!r} in one line, as Gaussian or Laplace"
        raise Refused("summary", f"{len(lines)} lines {law}".strip(), rule, "give query.summarize()")
    settings = {"source": "OpenDP", **stated}
    others = [name for name in table if name in {*noise_table["column"]} - {count}]
    table = table.drop(columns=others)
    return StatedCounts(table=table, count=count, noise=law, scale=float(lines["scale"].iloc[0]), **settings)


def counts_of_tumult(
    released: Any, noise: Mapping[str, Any] | Sequence[Mapping[str, Any]], count: str = "count", **stated: Any
) -> StatedCounts:
    """Import the result of a Tumult Analytics query that groups and counts.

    Parameters
    ----------
    released : Spark or pandas DataFrame
        Result of ``session.evaluate(query, budget)``.
    noise : mapping
        Tumult's noise information: ``noise_mechanism`` is a discrete Gaussian, with the variance as
        ``noise_parameter``, or geometric, with its scale.
    count : str
        Name of the column of counts.
    **stated
        Parameters of :class:`~sdv_plausible.StatedCounts` except noise and scale.

    Returns
    -------
    StatedCounts
        The counts.

    Raises
    ------
    ValueError
        If the noise is of another kind.
    """
    entry = noise if isinstance(noise, Mapping) else next(iter(noise), {}) if _is_list(noise) else None
    if not isinstance(entry, Mapping):
        raise Refused(
            "noise", noise, "must be a mapping with noise_mechanism and noise_parameter, or a list of such"
        )
    mechanism = entry.get("noise_mechanism")
    name = str(getattr(mechanism, "name", mechanism)).upper()
    if name not in ("GAUSSIAN", "DISCRETE_GAUSSIAN", "GEOMETRIC", "LAPLACE"):
        raise Refused("noise_mechanism", name, "must be DISCRETE_GAUSSIAN, GAUSSIAN, GEOMETRIC or LAPLACE")
    scale = check.positive("noise_parameter", entry.get("noise_parameter"))
    is_gaussian = name.endswith("GAUSSIAN")
    law, scale = ("gaussian", scale**0.5) if is_gaussian else ("laplace", scale)
    settings = {"source": "Tumult Analytics", **stated}
    return StatedCounts(table=_pandas("released", released), count=count, noise=law, scale=scale, **settings)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def read_sdmx(
    path: str | Path,
    columns: Mapping[str, str],
    *,
    where: Mapping[str, str] | None = None,
    values: Mapping[str, Mapping[str, Any]] | None = None,
    totals: Iterable[str] = TOTALS,
    **stated: Any,
) -> StatedCounts:
    """Read SDMX-CSV of a statistical office, version 1 or 2, one row per observation.

    Parameters
    ----------
    path : str or Path
        The file. The character after the first header is the separator.
    columns : mapping
        Dimensions of the margin, each with its column name in the domain: ``{"SEX": "sex"}``.
    where : mapping, optional
        One code for each dimension that has several codes and is not in the margin:
        ``{"TIME_PERIOD": "2021"}``.
    values : mapping, optional
        Translations for dimensions whose codes are not the domain's values: ``{"SEX": {"F": "female"}}``.
    totals : iterable of str
        Codes for totals. Rows with such a code in a margin column are dropped.
    **stated
        Parameters of :class:`~sdv_plausible.StatedCounts`. By default the counts are exact, and their source
        is the dataflow named in the file. ``scale`` may name an attribute, such as the standard error.

    Returns
    -------
    StatedCounts
        The counts.

    Raises
    ------
    ValueError
        If the file is not SDMX-CSV, a dimension is missing or has several codes, or a cell occurs twice.
    """
    table, flow = _observations(path)
    check.require_columns("the file", [VALUE, *columns, *(where or {}), *(values or {})], [*table])
    for name, code in (where or {}).items():
        table = table[_codes(table[name]) == code]
    table = table.assign(**{name: _codes(table[name]) for name in columns})
    table = table[~table[[*columns]].isin([*totals]).any(axis=1)]
    if table.empty:
        raise Refused.saying("where", "where leaves no line of the file: look at the codes of its dimensions")
    for name in table.columns[: [*table].index(VALUE)]:
        if name not in columns and len(codes := _codes(table[name]).unique()) > 1:
            raise Refused.saying(
                "where",
                f"where must choose a code of dimension {name!r}, which has {listed([*codes])}: "
                f"where={{{name!r}: {codes[0]!r}}}, or take it into columns",
            )
    if "OBS_STATUS" in table:
        table.loc[_codes(table["OBS_STATUS"]).isin(MISSING_STATUS), VALUE] = ""
    for name, translation in (values or {}).items():
        table[name] = [translation.get(code, code) for code in table[name]]
    scale = stated.get("scale")
    counts = table[[*columns, VALUE, *([scale] if isinstance(scale, str) else [])]]
    settings = {"noise": "exact" if scale is None else "gaussian", "source": flow, **stated}
    return StatedCounts(table=counts.rename(columns=dict(columns)), count=VALUE, **settings)


def _observations(path: str | Path) -> tuple[pd.DataFrame, str]:
    """Read the rows of an SDMX-CSV file, from the first dimension on, and its dataflow."""
    with io.TextIOWrapper(open_regular_file(path), encoding="utf-8-sig") as file:
        header = file.readline().lstrip('"')
    first = next((word for word in STRUCTURE if header.startswith(word)), None)
    if first is None:
        rule = f"must be SDMX-CSV, whose first header is {' or '.join(STRUCTURE)}"
        raise Refused("path", str(path), rule, "read_counts reads plain tables")
    # The column separator follows the first header, or "STRUCTURE[;]", where [;] separates values in a cell.
    table = _texts(path, header.removeprefix(first).split("]")[-1].lstrip('"')[:1])
    names = [str(name).split(":")[0] for name in table]  # with labels: "SEX: Sex"
    table.columns = pd.Index(names)
    dataflow = table["STRUCTURE_ID" if "STRUCTURE_ID" in names else names[0]]
    return table[[name for name in names if not name.startswith(NOT_DIMENSIONS)]], str(dataflow.iloc[0])


def _codes(column: Any) -> Any:
    """Codes of cells that may include labels, as with labels=both: "F: Female"."""
    return column.str.split(": ", n=1).str[0]


def _texts(path: str | Path, separator: str) -> pd.DataFrame:
    """Read the cells of a CSV file as text."""
    return pd.read_csv(path, sep=separator, dtype=str, keep_default_na=False, encoding="utf-8-sig")


def _pandas(name: str, frame: Any) -> pd.DataFrame:
    """Convert a frame of another library to pandas."""
    for method in ("to_pandas", "toPandas"):
        if hasattr(frame, method):
            return getattr(frame, method)()
    if not isinstance(frame, pd.DataFrame):
        raise Refused.saying(
            name, f"{name} ({type(frame).__name__}) must be a DataFrame, with a line for each group or column"
        )
    return frame
