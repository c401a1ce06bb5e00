"""Run a short suite against the built wheel: on every Python that ``pyproject.toml`` names, with the newest and the lowest dependencies.

``./dev versions`` runs every cell of the table and prints it as markdown; ``--write`` puts it into the installation page.
``--ends`` runs the oldest and the newest Python of this machine, with the newest dependencies and SDV 2.

Each cell installs the wheel into an environment of its own in a temporary folder, and leaves the checkout out of it. The suite is the
demo, a fit of each model with its release file, and the canaries of the optional parts. Then every cell reads the files of all
cells: under a seed they give the same rows, byte for byte. torch is left out everywhere (``WITHOUT``).

What runs outside of the environments needs the standard library alone.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/how_to/install.md"
START, END = "<!-- the table of ./dev versions -->\n\n", "\n<!-- end of the table -->"
WITHOUT = 'torch ; python_version < "3"\n'  # several GB, and imported by SDV's neural networks alone
EXTRAS = ("parquet", "codebooks", "scale", "app")
TOOLS = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis", "jsonschema", "polars", "httpx", "httpx2")
PASSED, ABSENT = "passed", "not found on the machine"


@dataclass(frozen=True)
class Column:
    """A column of the table: which dependencies, with which SDV."""

    title: str
    resolution: str  # uv's word
    pins: tuple[str, ...]
    extras: tuple[str, ...] = EXTRAS


COLUMNS = (
    Column("SDV 2, newest", "highest", ("sdv>=2",)),
    Column("SDV 2, lowest", "lowest-direct", ("sdv>=2",)),
    Column(
        "SDV 1.38.5 and SDGym, newest",
        "highest",
        ("sdv==1.38.5", "rdt<2", "sdgym==0.15.1"),
        (*EXTRAS, "sdgym"),
    ),
    Column("SDV 1.38 and SDGym, lowest", "lowest-direct", ("sdv<2",), (*EXTRAS, "sdgym")),
)


class StepError(Exception):
    """A program of a cell that failed, with the line that says why."""


# --- what is promised, and whether it was run -----------------------------------------------------


def named_pythons(project: str) -> list[str]:
    """The versions of the classifiers in ``pyproject.toml``."""
    return re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)


def read_table(page: str) -> dict[str, list[str]]:
    """The cells of the table on the page, by Python."""
    lines = page.partition(START)[2].partition(END)[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines if line.startswith("|")]
    return {".".join(python.split(".")[:2]): results for python, *results in cells}


def uncovered(project: str, readme: str, page: str) -> list[str]:
    """Promises of ``pyproject.toml`` and README that no passed run on the page covers."""
    table = read_table(page)
    covered = [python for python, cells in table.items() if cells == [PASSED] * len(COLUMNS)]
    wrong = [
        f"classifier {python}: no run of it passed"
        for python in named_pythons(project)
        if python not in covered
    ]
    for file, text, promise in (
        ("pyproject.toml", project, r'requires-python = ">=([\d.]+)"'),
        ("README.md", readme, r"Python (3\.\d+) or newer"),
    ):
        lowest = re.findall(promise, text)
        if lowest != [next(iter(covered), "")]:
            wrong.append(f"{file}: {lowest} must be the oldest Python of which every run passed, once")
    return wrong


def misplaced_files(wheel: Path, package: Path) -> list[str]:
    """Files of the package that a wheel does not hold, and files that it holds beside them."""
    there = {
        path.relative_to(package.parent).as_posix()
        for path in package.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    return [f"not in the wheel: {name}" for name in sorted(there - held)] + [
        f"only in the wheel: {name}" for name in sorted(held - there)
    ]


# --- outside of the environments: the standard library alone --------------------------------------


def find_python(version: str) -> Path | None:
    """A Python of this machine: on the path, or of pyenv. A shim of pyenv may not run, so that each is tried."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    on_path = [Path(sys.executable), *map(Path, filter(None, [shutil.which(f"python{version}")]))]
    for python in (*on_path, *sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True)):
        question = [str(python), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        if subprocess.run(question, capture_output=True, text=True, check=False).stdout.strip() == version:
            return python
    return None


@dataclass
class Cell:
    """One Python with one choice of dependencies."""

    version: str
    python: Path
    column: Column
    folder: Path
    result: str = PASSED
    full_version: str = ""

    @property
    def program(self) -> Path:
        """The Python of the environment."""
        return self.folder / "env/bin/python"

    def __str__(self) -> str:
        return f"Python {self.version}, {self.column.title}"


@dataclass(frozen=True)
class SuiteRunner:
    """The temporary folder of a run: uv, the wheel, and a copy of the tests."""

    folder: Path

    @property
    def tests(self) -> Path:
        """The copy, which has no package beside it."""
        return self.folder / "copy"

    def call(self, step: str, *command: object, cwd: Path | None = None) -> str:
        """Run a program without anything of the checkout; what failed is printed."""
        quiet = {
            "PYTHONNOUSERSITE": "1",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "TQDM_DISABLE": "1",
        }
        environment = {
            name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")
        }
        done = subprocess.run(
            [str(word) for word in command],
            cwd=cwd or self.folder,
            env=environment | quiet,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            print(f"$ {' '.join(map(str, command))}\n{done.stdout}", file=sys.stderr, flush=True)
            last = [
                line
                for line in done.stdout.splitlines()
                if re.match(r"(FAILED|ERROR|\w*Error|  ×|  ╰)", line)
            ]
            why = (last or done.stdout.splitlines() or [f"exit {done.returncode}"])[-1].strip()
            raise StepError(f"{step}: {why[:200].replace('|', '/')}")
        return done.stdout

    def uv(self, step: str, *arguments: object) -> str:
        """Run uv, of the environment for tools."""
        return self.call(step, self.folder / "tools/bin/uv", *arguments)

    def set_up(self) -> Path:
        """Install uv, copy the tests, build the wheel and look into it."""
        self.call("tools", sys.executable, "-m", "venv", "tools")
        self.call("tools", "tools/bin/python", "-m", "pip", "install", "--quiet", "uv")
        (self.folder / "without.txt").write_text(WITHOUT)
        for name in ("tests", "docs"):
            shutil.copytree(ROOT / name, self.tests / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md"):
            shutil.copy(ROOT / name, self.tests / name)
        self.uv("wheel", "build", "--quiet", "--wheel", "--out-dir", self.folder / "wheel", ROOT)
        (wheel,) = (self.folder / "wheel").glob("*.whl")
        if misplaced := misplaced_files(wheel, ROOT / "sdv_plausible"):
            raise StepError("wheel: " + "; ".join(misplaced))
        return wheel

    def run_suite(self, cell: Cell, wheel: Path) -> None:
        """Install the wheel into a new environment and run the short suite there."""
        cell.folder.mkdir()
        asked = (cell.python, "-c", "import platform; print(platform.python_version())")
        cell.full_version = self.call("python", *asked).strip()
        self.uv("venv", "venv", "--quiet", "--python", cell.python, cell.folder / "env")
        into = ("pip", "install", "--quiet", "--python", cell.program, "--overrides", "without.txt")
        extras = [word for extra in cell.column.extras for word in ("--extra", extra)]
        (cell.folder / "pins.txt").write_text("\n".join(cell.column.pins))
        project = ("-r", ROOT / "pyproject.toml", *extras, "-r", cell.folder / "pins.txt")
        self.uv(
            "not installable",
            *into,
            "--only-binary",
            ":all:",
            "--resolution",
            cell.column.resolution,
            *project,
        )
        self.uv("tools", *into, *TOOLS)
        self.uv("wheel", "pip", "install", "--quiet", "--python", cell.program, "--no-deps", wheel)
        demo = (cell.folder / "env/bin/sdv-plausible", "demo", "--table-rows", 20_000, "--rows", 2_000)
        self.call("demo", *demo, "--output", cell.folder / "demo")
        self.call(
            "models", cell.program, "tests/versions.py", "--inside", cell.folder / "files", cwd=self.tests
        )
        canaries = (
            "import optional_parts as o; print(*(t for t in o.canaries() if not t.startswith('benchmarks/')))"
        )
        tests = self.call("canaries", cell.program, "-c", canaries, cwd=self.tests / "tests").split()
        pytest = (cell.program, "-m", "pytest", "-q", "-p", "no:cacheprovider")
        # Warnings of dependencies that are old on purpose are no failures.
        old = ("-W", "default") if cell.column.resolution != "highest" else ()
        self.call("tests", *pytest, *old, *(f"tests/{test}" for test in sorted(tests)), cwd=self.tests)

    def read_others(self, cell: Cell, cells: Iterable[Cell]) -> None:
        """Read the files that all cells have written."""
        folders = [other.folder / "files" for other in cells if (other.folder / "files/done").exists()]
        self.call("files", cell.program, "tests/versions.py", "--read", *folders, cwd=self.tests)


def chosen_cells(found: Mapping[str, Path], columns: Iterable[Column], folder: Path) -> list[Cell]:
    """Every Python that was found with every column."""
    return [
        Cell(version, python, column, folder / f"{version}-{number}")
        for version, python in found.items()
        for number, column in enumerate(columns)
    ]


def as_table(pythons: Iterable[str], columns: Iterable[Column], cells: Iterable[Cell]) -> str:
    """The results as a markdown table."""
    results = {(cell.version, cell.column.title): cell for cell in cells}
    titles = [column.title for column in columns]
    lines = [f"| Python | {' | '.join(titles)} |", "|---" * (len(titles) + 1) + "|"]
    for version in pythons:
        row = [results.get((version, title)) for title in titles]
        full = next((cell.full_version for cell in row if cell), "") or version
        lines.append(f"| {full} | {' | '.join(cell.result if cell else ABSENT for cell in row)} |")
    return "\n".join(lines) + "\n"


def run_cells(cells: list[Cell], runner: SuiteRunner, jobs: int) -> None:
    """Run the suite of each cell, then let each read the files of all."""
    wheel = runner.set_up()

    def run(cell: Cell, step: Callable[[], object]) -> None:
        start = time.monotonic()
        if cell.result == PASSED:
            try:
                step()
            except StepError as failed:
                cell.result = str(failed)
            print(f"{cell}: {cell.result} ({time.monotonic() - start:.0f} s)", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda cell: run(cell, lambda: runner.run_suite(cell, wheel)), cells))
        list(pool.map(lambda cell: run(cell, lambda: runner.read_others(cell, cells)), cells))


# --- inside an environment: the installed package -------------------------------------------------


def write_files(folder: Path) -> None:
    """Fit each model, and tables of each kind, and write the release file of each beside rows that it gives under a seed."""
    from releases import fitted

    import sdv_plausible
    from sdv_plausible import PlausibleDeniabilitySynthesizer, metadata_of
    from sdv_plausible.datasets import census_like, census_like_metadata
    from sdv_plausible.models import NAMES

    if not Path(sdv_plausible.__file__).is_relative_to(sys.prefix):
        raise ImportError(f"{sdv_plausible.__file__} must be the installed package's")
    folder.mkdir()
    columns = ["age", "sex", "marital_status", "hours_per_week", "income_class"]
    table = census_like(2_000, random_state=0)[columns]
    domain = {name: census_like_metadata()[name] for name in columns}
    made = {case: fitted(case) for case in ("declared", "private", "seeds")}
    for model in NAMES:
        made[model] = PlausibleDeniabilitySynthesizer(metadata_of(domain), domain=domain, model=model)
        made[model].fit(table)
    for name, synth in made.items():
        release = synth.release()
        release.save(folder / f"{name}.release")
        (folder / f"{name}.csv").write_text(seeded_rows(release))
        synth.save(folder / f"{name}.pkl")
        if len(PlausibleDeniabilitySynthesizer.load(folder / f"{name}.pkl").sample(20)) != 20:
            raise ValueError(f"a saved object of {name} must sample as before")
    (folder / "done").touch()


def seeded_rows(release: Any) -> str:
    """Rows of a release under a seed, but for columns that Faker makes: its versions differ."""
    return release.sample(200, random_state=1).drop(columns=["email", "phone"], errors="ignore").to_csv()


def read_files(folders: Iterable[Path]) -> None:
    """Read the release files in the folders, and compare the rows under a seed."""
    from sdv_plausible import Release

    for path in (path for folder in folders for path in sorted(folder.glob("*.release"))):
        if seeded_rows(Release.load(path)) != path.with_suffix(".csv").read_text():
            raise ValueError(f"{path.parts[-3]}: {path.stem} must give the rows that were written beside it")


def main() -> int:
    """Run what was asked for; 1 if a cell failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--ends", action="store_true", help="the oldest and newest Python, newest dependencies, SDV 2"
    )
    parser.add_argument(
        "--python", action="append", help="a version, such as 3.10; several times for several"
    )
    parser.add_argument("--column", type=int, action="append", help="a column of the table, from 0")
    parser.add_argument("--jobs", type=int, default=1, help="cells that run side by side")
    parser.add_argument("--write", action="store_true", help=f"write the table into {PAGE.relative_to(ROOT)}")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--read", type=Path, nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside or options.read:
        sys.path[:0] = [str(Path.cwd()), str(Path.cwd() / "tests")]
        read_files(options.read) if options.read else write_files(options.inside)
        return 0
    pythons = options.python or named_pythons((ROOT / "pyproject.toml").read_text())
    found = {version: path for version in pythons if (path := find_python(version))}
    for version in sorted(set(pythons) - set(found)):
        print(f"Python {version}: {ABSENT}", flush=True)
    columns = COLUMNS[:1] if options.ends else [COLUMNS[i] for i in options.column or range(len(COLUMNS))]
    if options.ends:
        ends = list(found)[:1] + list(found)[1:][-1:]
        pythons = [version for version in pythons if version in ends or version not in found]
        found = {version: found[version] for version in ends}
    with tempfile.TemporaryDirectory(prefix="versions-") as folder:
        cells = chosen_cells(found, columns, Path(folder))
        run_cells(cells, SuiteRunner(Path(folder)), options.jobs)
    table = as_table(pythons, columns, cells)
    print(table)
    if options.write:
        before, _, rest = PAGE.read_text().partition(START)
        PAGE.write_text(before + START + table + END + rest.partition(END)[2])
    return int(any(cell.result != PASSED for cell in cells))


if __name__ == "__main__":
    sys.exit(main())
