"""Packages whose public names load on first use, from a stub file."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

_REEXPORT = re.compile(
    r"^from \.(\S*) import \(?\s*(\w+) as \2,?\s*\)?$", re.MULTILINE
)  # on one line or on three


def lazy_attributes(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package from its ``.pyi`` stub."""
    # ``from . import name`` denotes a submodule.
    stub = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    module_of: dict[str, str] = {name: module for module, name in _REEXPORT.findall(stub)}

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{module_of[name] or name}")
        return getattr(module, name) if module_of[name] else module

    return load, lambda: sorted({*vars(sys.modules[package]), *module_of}), sorted(module_of)
