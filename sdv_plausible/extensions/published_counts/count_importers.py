"""Tables of counts as others write them: plain files, OpenDP, Tumult, and SDMX-CSV of statistical offices."""

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
from sdv_plausible.utils.input_files import check_given, open_given

STRUCTURE = ("DATAFLOW", "STRUCTURE")  # the first header of SDMX-CSV 1 and 2
BESIDE = ("DATAFLOW", "STRUCTURE", "ACTION", "SERIES_KEY", "OBS_KEY")  # columns that are no dimensions
VALUE = "OBS_VALUE"
TOTALS = ("_T", "TOTAL", "T")
NO_FACT = ("M", "O", "L", "NaN")  # OBS_STATUS of values that are missing


def read_counts(path: str | Path, count: str = "count", **stated: Any) -> StatedCounts:
    """Read a CSV or Parquet table of counts: a line for each cell.

    Parameters
    ----------
    path : str or Path
        The file; of CSV the separator is a comma.
    count : str
        Name of the column of counts.
    **stated
        As of :class:`~sdv_plausible.StatedCounts`; ``scale="standard_error"`` names a column of the file.

    Raises
    ------
    ValueError
        If the file lacks a column, or a parameter cannot be.
    """
    check_given(path)
    table = pd.read_parquet(path) if is_parquet(path) else _texts(path, ",")
    return StatedCounts(table=table, count=count, **stated)


def counts_of_opendp(released: Any, summary: Any, count: str = "len", **stated: Any) -> StatedCounts:
    """Take in what OpenDP released of a query that groups and counts.

    Parameters
    ----------
    released : polars or pandas DataFrame
        ``query.release().collect()``: a line for each group.
    summary : polars or pandas DataFrame
        ``query.summarize()``: it says the noise of every column.
    count : str
        Name of the column of counts.
    **stated
        As of :class:`~sdv_plausible.StatedCounts`, but for noise and scale.

    Raises
    ------
    ValueError
        If the summary says no noise of that column.
    """
    table, told = _pandas("released", released), _pandas("summary", summary)
    check.all_there("summary", ["column", "distribution", "scale"], [*told])
    lines = told[told["column"] == count]
    law = str(lines["distribution"].iloc[0]).split()[-1].lower() if len(lines) == 1 else ""
    if law not in ("gaussian", "laplace"):
        rule = f"must say the noise of {count!r} in one line, as Gaussian or Laplace"
        raise Refused("summary", f"{len(lines)} lines {law}".strip(), rule, "give query.summarize()")
    known = {"source": "OpenDP", **stated}
    others = [name for name in table if name in {*told["column"]} - {count}]
    table = table.drop(columns=others)
    return StatedCounts(table=table, count=count, noise=law, scale=float(lines["scale"].iloc[0]), **known)


def counts_of_tumult(
    released: Any, noise: Mapping[str, Any] | Sequence[Mapping[str, Any]], count: str = "count", **stated: Any
) -> StatedCounts:
    """Take in what Tumult Analytics released of a query that groups and counts.

    Parameters
    ----------
    released : Spark or pandas DataFrame
        What ``session.evaluate(query, budget)`` returns.
    noise : mapping
        What it says of the noise: ``noise_mechanism`` (a discrete Gaussian, with the variance as
        ``noise_parameter``, or a geometric one, with its scale).
    count : str
        Name of the column of counts.
    **stated
        As of :class:`~sdv_plausible.StatedCounts`, but for noise and scale.

    Raises
    ------
    ValueError
        If the noise is of another kind.
    """
    told = noise if isinstance(noise, Mapping) else next(iter(noise), {}) if _is_list(noise) else None
    if not isinstance(told, Mapping):
        raise Refused(
            "noise", noise, "must be a mapping with noise_mechanism and noise_parameter, or a list of such"
        )
    mechanism = told.get("noise_mechanism")
    name = str(getattr(mechanism, "name", mechanism)).upper()
    if name not in ("GAUSSIAN", "DISCRETE_GAUSSIAN", "GEOMETRIC", "LAPLACE"):
        raise Refused("noise_mechanism", name, "must be DISCRETE_GAUSSIAN, GAUSSIAN, GEOMETRIC or LAPLACE")
    scale = check.positive("noise_parameter", told.get("noise_parameter"))
    is_gaussian = name.endswith("GAUSSIAN")
    law, scale = ("gaussian", scale**0.5) if is_gaussian else ("laplace", scale)
    known = {"source": "Tumult Analytics", **stated}
    return StatedCounts(table=_pandas("released", released), count=count, noise=law, scale=scale, **known)


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
    """Read SDMX-CSV of a statistical office, version 1 or 2: a line for each observation.

    Parameters
    ----------
    path : str or Path
        The file. What follows the first header says the separator.
    columns : mapping
        Dimensions of the margin, each with the name of its column in the domain: ``{"SEX": "sex"}``.
    where : mapping, optional
        The code of each dimension that has several and is not in the margin: ``{"TIME_PERIOD": "2021"}``.
    values : mapping, optional
        For dimensions whose codes are not the domain's values: ``{"SEX": {"F": "female"}}``.
    totals : iterable of str
        Codes that stand for all: lines that have one in the margin are left out.
    **stated
        As of :class:`~sdv_plausible.StatedCounts`: by default the counts are exact, and their source is the
        dataflow that the file names. ``scale`` may name an attribute, such as the standard error.

    Raises
    ------
    ValueError
        If the file is no SDMX-CSV, a dimension is not there or has several codes, or cells are there twice.
    """
    table, flow = _observations(path)
    check.all_there("the file", [VALUE, *columns, *(where or {}), *(values or {})], [*table])
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
        table.loc[_codes(table["OBS_STATUS"]).isin(NO_FACT), VALUE] = ""
    for name, words in (values or {}).items():
        table[name] = [words.get(code, code) for code in table[name]]
    scale = stated.get("scale")
    kept = table[[*columns, VALUE, *([scale] if isinstance(scale, str) else [])]]
    known = {"noise": "exact" if scale is None else "gaussian", "source": flow, **stated}
    return StatedCounts(table=kept.rename(columns=dict(columns)), count=VALUE, **known)


def _observations(path: str | Path) -> tuple[pd.DataFrame, str]:
    """Lines of a file in SDMX-CSV from the first dimension on, and its dataflow."""
    with io.TextIOWrapper(open_given(path), encoding="utf-8-sig") as file:
        head = file.readline().lstrip('"')
    first = next((word for word in STRUCTURE if head.startswith(word)), None)
    if first is None:
        rule = f"must be SDMX-CSV, whose first header is {' or '.join(STRUCTURE)}"
        raise Refused("path", str(path), rule, "read_counts reads plain tables")
    # after "STRUCTURE[;]", where values of one cell have a separator of their own, stands that of cells
    table = _texts(path, head.removeprefix(first).split("]")[-1].lstrip('"')[:1])
    names = [str(name).split(":")[0] for name in table]  # with labels: "SEX: Sex"
    table.columns = pd.Index(names)
    flow = table["STRUCTURE_ID" if "STRUCTURE_ID" in names else names[0]]
    return table[[name for name in names if not name.startswith(BESIDE)]], str(flow.iloc[0])


def _codes(column: Any) -> Any:
    """Codes of cells that may carry their labels, as with labels=both: "F: Female"."""
    return column.str.split(": ", n=1).str[0]


def _texts(path: str | Path, separator: str) -> pd.DataFrame:
    """Cells of a CSV file, as they are written."""
    return pd.read_csv(path, sep=separator, dtype=str, keep_default_na=False, encoding="utf-8-sig")


def _pandas(name: str, frame: Any) -> pd.DataFrame:
    """A frame of another library as one of pandas."""
    for way in ("to_pandas", "toPandas"):
        if hasattr(frame, way):
            return getattr(frame, way)()
    if not isinstance(frame, pd.DataFrame):
        raise Refused.saying(
            name, f"{name} ({type(frame).__name__}) must be a DataFrame, with a line for each group or column"
        )
    return frame
