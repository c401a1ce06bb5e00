"""Public names are said once, in the stub of their package: what a type checker reads there is what loads."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

import pytest

import sdv_plausible
from sdv_plausible.utils.lazy_names import lazy_attributes

HOUSE = Path(sdv_plausible.__file__).parent
STUBS = sorted(HOUSE.rglob("__init__.pyi"))


def stated(stub):
    """Names that a stub makes public, in any spelling."""
    imports = [node for node in ast.parse(stub.read_text()).body if isinstance(node, ast.ImportFrom)]
    return sorted(alias.asname or alias.name for node in imports for alias in node.names)


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.parent.name)
def test_every_name_of_a_stub_loads(stub):
    package = importlib.import_module(".".join(stub.parent.relative_to(HOUSE.parent).parts))
    assert package.__all__ == stated(stub) != []
    assert all(getattr(package, name).__name__.endswith(name) for name in package.__all__)


def test_planted_a_name_in_another_spelling_is_seen(tmp_path):
    stub = tmp_path / "__init__.pyi"
    stub.write_text("from .a import A as A\nfrom .c import (\n    C as C,\n)\nfrom .b import B\n")
    assert lazy_attributes("planted", str(tmp_path / "__init__.py"))[2] == ["A", "C"] != stated(stub)


def test_names_load_on_first_use_and_modules_too(tmp_path, monkeypatch):
    folder = tmp_path / "planted_late"
    folder.mkdir()
    (folder / "a.py").write_text("A = 1\n")
    (folder / "b.py").write_text("")
    (folder / "__init__.pyi").write_text("from . import b as b\nfrom .a import A as A\n")
    late = "from sdv_plausible.utils.lazy_names import lazy_attributes\n"
    (folder / "__init__.py").write_text(
        f"{late}__getattr__, __dir__, __all__ = lazy_attributes(__name__, __file__)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    package = importlib.import_module("planted_late")
    assert not {"planted_late.a", "planted_late.b"} & set(sys.modules)
    assert (package.A, package.b) == (1, sys.modules["planted_late.b"])
    assert {"A", "b", "__all__"} <= set(dir(package))
    with pytest.raises(AttributeError, match="'planted_late' has no attribute 'c'"):
        _ = package.c
