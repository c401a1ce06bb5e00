"""Packages whose public names load on first use: nobody pays for what a program does not ask for."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

STATED = re.compile(
    r"^from \.(\S*) import \(?\s*(\w+) as \2,?\s*\)?$", re.MULTILINE
)  # on a line, or on three


def late_names(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package, whose stub says once where each name is."""
    # What is imported from the package itself is a module.
    stub = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    homes: dict[str, str] = {name: module for module, name in STATED.findall(stub)}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{homes[name] or name}")
        return getattr(module, name) if homes[name] else module

    return load, lambda: sorted({*vars(sys.modules[package]), *homes}), sorted(homes)
