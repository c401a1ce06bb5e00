"""A release loads and samples where neither SDV nor torch is: their imports are blocked in a program of its own."""

import subprocess
import sys
from pathlib import Path

import pytest
from releases import shared

BLOCKED = ("sdv", "torch", "rdt", "copulas", "ctgan", "deepecho", "sdmetrics", "plotly", "sklearn")
PROGRAM = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ImportError(f"{{name}} is not installed here")

sys.meta_path.insert(0, Blocked())
from sdv_plausible import Release
release = Release.load({path!r}, {digest!r})
rows = release.sample(50)
print(rows["email"][0], rows["key"][0], rows["phone"][0])
print(len(release.sample(5, given={{"city": "Bern"}})), release.answers and len(release.answers))
print(release)
print(release.structure()["city"], release.ledger.total() <= 40)
release.save({path!r}, readable=True)
assert Release.load({path!r}, {digest!r}) == release
"""


def run(path: Path, digest: str, *more: str) -> subprocess.CompletedProcess[str]:
    code = PROGRAM.format(blocked=(*BLOCKED, *more), path=str(path), digest=digest)
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("case", ["private", "seeds, range"])
def test_neither_sdv_nor_torch_is_needed(case, tmp_path):
    path = tmp_path / "x.release"
    done = run(path, shared(case).release().save(path))
    assert done.returncode == 0, done.stderr
    email, key, phone = done.stdout.split("\n")[0].split(" ", 2)
    assert "@" in email
    assert key == "P00000"
    assert phone


def test_faker_is_not_needed_either(tmp_path):
    path = tmp_path / "x.release"
    done = run(path, shared().release().save(path), "faker", "pyarrow_hotfix")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("email-000001 P00000 phone_number-000001\n")


def test_the_block_is_one():
    """The synthesizer itself does need SDV."""
    blocked = PROGRAM.split("from sdv_plausible", maxsplit=1)[0].format(blocked=BLOCKED)
    code = f"{blocked}import sdv_plausible.synthesizer"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "is not installed here" in done.stderr
