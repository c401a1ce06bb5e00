"""What differs between SDV 1.38 and SDV 2.0: bare frames there, ``{table: frame}`` here."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from inspect import BoundArguments, signature
from pathlib import Path
from typing import Any

import pandas as pd

from sdv_plausible.utils.file_names import file_in

SDV_MAJOR = int(version("sdv").split(".")[0])
TAKES_DICT = SDV_MAJOR >= 2
_OUTPUT = "output_folder_path" if TAKES_DICT else "output_file_path"


def to_native(table_name: str, frame: pd.DataFrame) -> Any:
    """The form that the installed SDV takes."""
    return {table_name: frame} if TAKES_DICT else frame


def from_native(result: Any) -> pd.DataFrame:
    """The frame in what the installed SDV returns."""
    return next(iter(result.values())) if isinstance(result, dict) else result


@dataclass(frozen=True)
class OutputFile:
    """The file that a call of SDV's sampling methods asks for.

    Parameters
    ----------
    path : Path
        The file.
    arguments : inspect.BoundArguments
        Of the call.
    """

    path: Path
    arguments: BoundArguments

    @classmethod
    def of(
        cls, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any], table_name: str
    ) -> OutputFile | None:
        """File of a call; None if it writes none."""
        arguments = signature(method).bind(*args, **kwargs)
        given = arguments.arguments.get(_OUTPUT)
        if not given or given == "disable":  # SDV's own word for none
            return None
        return cls(file_in(Path(given), table_name, ".csv") if TAKES_DICT else Path(given), arguments)

    def call(self, method: Any) -> Any:
        """Call the method, which writes none."""
        self.arguments.arguments[_OUTPUT] = None
        return method(*self.arguments.args, **self.arguments.kwargs)


def sdv_bases(model: Any) -> list[str]:
    """Names of the classes of SDV that a model, or its class, is derived from."""
    made = model if isinstance(model, type) else type(model)
    return [base.__name__ for base in made.__mro__ if base.__module__.split(".")[0] == "sdv"]
