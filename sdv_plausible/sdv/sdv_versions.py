"""Differences between SDV 1.38, which takes bare frames, and SDV 2.0, which takes ``{table: frame}``."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from inspect import BoundArguments, signature
from pathlib import Path
from typing import Any

import pandas as pd

from sdv_plausible.utils.file_paths import path_in_folder

SDV_MAJOR = int(version("sdv").split(".")[0])
TAKES_DICT = SDV_MAJOR >= 2
_OUTPUT = "output_folder_path" if TAKES_DICT else "output_file_path"


def to_native(table_name: str, frame: pd.DataFrame) -> Any:
    """Convert a frame to the input of the installed SDV."""
    return {table_name: frame} if TAKES_DICT else frame


def from_native(result: Any) -> pd.DataFrame:
    """The frame in a result of the installed SDV."""
    return next(iter(result.values())) if isinstance(result, dict) else result


@dataclass(frozen=True)
class OutputFile:
    """The output file of a call of an SDV sampling method, and the arguments of the call."""

    path: Path
    arguments: BoundArguments

    @classmethod
    def of(
        cls, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any], table_name: str
    ) -> OutputFile | None:
        """The output file of a call; None if it writes none."""
        arguments = signature(method).bind(*args, **kwargs)
        path = arguments.arguments.get(_OUTPUT)
        if not path or path == "disable":  # SDV's value for no file
            return None
        return cls(path_in_folder(Path(path), table_name, ".csv") if TAKES_DICT else Path(path), arguments)

    def call(self, method: Any) -> Any:
        """Call the method without its output file."""
        self.arguments.arguments[_OUTPUT] = None
        return method(*self.arguments.args, **self.arguments.kwargs)


def sdv_bases(model: Any) -> list[str]:
    """Names of the SDV classes that a model, or its class, is derived from."""
    kind = model if isinstance(model, type) else type(model)
    return [base.__name__ for base in kind.__mro__ if base.__module__.split(".")[0] == "sdv"]
