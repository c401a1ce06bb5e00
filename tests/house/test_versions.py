"""``tests/versions.py``: every promised version of Python was tested, and the wheel contains the package."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
import versions
from pages import ROOT

PROJECT, README, PAGE = (
    (ROOT / name).read_text() for name in ("pyproject.toml", "README.md", "docs/how_to/install.md")
)
CLASSIFIER = '"Programming Language :: Python :: 3.10",'


def test_every_promise_was_run() -> None:
    assert versions.uncovered(PROJECT, README, PAGE) == []


def test_a_promise_without_a_run_is_refused() -> None:
    texts = {"project": PROJECT, "readme": README, "page": PAGE}
    for file, old, new in (
        ("project", CLASSIFIER, f'{CLASSIFIER} "Programming Language :: Python :: 3.9",'),
        ("project", 'requires-python = ">=3.10"', 'requires-python = ">=3.9"'),
        ("project", 'requires-python = ">=3.10"', 'requires-python = ">=3.11"'),
        ("project", 'requires-python = ">=3.10"', ""),
        ("readme", "Python 3.10 or newer", "Python 3.9 or newer"),
        ("page", f"{versions.PASSED} |", f"{versions.ABSENT} |"),
        ("page", versions.START, ""),
    ):
        planted = texts[file].replace(old, new, 1)
        assert planted != texts[file]
        assert versions.uncovered(**{**texts, file: planted})


def test_ci_runs_the_oldest_and_the_newest() -> None:
    assert "./dev versions --ends" in (ROOT / ".ci/run").read_text()


def test_a_table_reads_as_it_was_written(tmp_path: Path) -> None:
    found = {"3.10": Path("python3.10")}
    cells = versions.chosen_cells(found, versions.COLUMNS, tmp_path)
    cells[1].result = "tests: FAILED tests/a.py"
    table = versions.as_table(["3.10", "3.13"], versions.COLUMNS, cells)
    assert versions.read_table(versions.START + table + versions.END) == {
        "3.10": [versions.PASSED, "tests: FAILED tests/a.py", versions.PASSED, versions.PASSED],
        "3.13": [versions.ABSENT] * 4,
    }


def test_what_a_wheel_lacks_and_what_it_has_beside_the_package(tmp_path: Path) -> None:
    package = tmp_path / "package"
    for name in ("__init__.py", "pages/page.html", "__pycache__/x.pyc"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).touch()
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as wheel:
        for name in ("package/__init__.py", "tests/test_a.py", "package-1.dist-info/METADATA"):
            wheel.writestr(name, "")
    assert versions.misplaced_files(tmp_path / "a.whl", package) == [
        "not in the wheel: package/pages/page.html",
        "only in the wheel: tests/test_a.py",
    ]


def test_a_python_that_does_not_run_is_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pyenv has shims on the path for versions that are not installed."""
    shim = tmp_path / "python3.99"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert versions.find_python("3.99") is None
    real = tmp_path / "versions/3.99.1/bin/python"
    real.parent.mkdir(parents=True)
    real.write_text("#!/bin/sh\necho 3.99\n")
    real.chmod(0o755)
    assert versions.find_python("3.99") == real
