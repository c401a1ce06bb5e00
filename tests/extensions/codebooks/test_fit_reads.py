"""What ``declare`` writes of a code book, ``fit`` reads, and every statement of the book is in the domain."""

from __future__ import annotations

import csv
import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible import fit_source
from sdv_plausible.cli.main import main
from sdv_plausible.extensions.codebooks.csv_codebook import HEADER, read_csv_codebook
from sdv_plausible.extensions.verify.domain_replay import replay_domain
from sdv_plausible.table.declared.declarations import read_declarations
from sdv_plausible.table.declared.domain_file import read_domain_file

ROWS = 200
NUMBERS = ("number", "numerical", "integer", "int", "")
CATEGORIES = ("category", "ordinal", "boolean")


@dataclass(frozen=True)
class Line:
    """One line of a code book."""

    cells: dict

    @property
    def kind(self):
        """What the column is; of a line without a type what its other cells tell."""
        kind = self.cells.get("type", "")
        if kind in CATEGORIES or self.cells.get("values"):
            return "category"
        if kind == "date" or self.cells.get("format"):
            return "date"
        is_number = any(self.cells.get(word) for word in ("min", "max", "decimals"))
        return "number" if kind in NUMBERS and (kind or is_number) else kind or "open"

    def column(self, rng):
        """Cells that fit the line."""
        cells = self.cells
        if self.kind == "category":
            values = cells["values"].split("|") if cells.get("values") else ["true", "false"]
            found = rng.choice(values, ROWS).tolist()
        elif self.kind == "date":
            low, high = cells.get("min") or "2019-01-01", cells.get("max") or "2030-12-31"
            days = pd.date_range(low, max(low, high))
            found = [str(days[i].date()) for i in rng.integers(0, len(days), ROWS)]
        else:
            low = float(cells.get("min") or float(cells.get("max") or 0) - 50)
            high = float(cells.get("max") or low + 50)
            digits = int(cells.get("decimals") or (0 if cells.get("type") in ("integer", "int") else 2))
            found = [f"{min(max(value, low), high):.{digits}f}" for value in rng.uniform(low, high, ROWS)]
        is_missing = cells.get("missing") == "yes"
        return [None if is_missing and rng.random() < 0.2 else cell for cell in found]


@st.composite
def lines(draw):
    """A line that means something."""
    kind = draw(st.sampled_from([*NUMBERS, *CATEGORIES, "date", "id"]))
    cells = {"type": kind, "missing": draw(st.sampled_from(["", "yes", "no"]))}
    if kind in NUMBERS:
        ends = sorted(draw(st.lists(st.integers(-50, 300), min_size=2, max_size=2, unique=True)))
        for word, end in zip(("min", "max"), ends, strict=True):
            cells[word] = draw(st.sampled_from(["", str(end), f"{end}.5"]))
        cells["decimals"] = draw(st.sampled_from(["", "", "0", "2"]))
    elif kind == "date":
        for word, end in (("min", "2020-01-01"), ("max", "2021-06-30")):
            cells[word] = draw(st.sampled_from(["", end]))
        cells["format"] = draw(st.sampled_from(["%Y-%m-%d"]))
    elif kind == "id":
        cells["min"] = draw(st.sampled_from(["", "1"]))
    elif kind != "boolean":
        cells["values"] = draw(st.sampled_from(["", "a|b|c", "1|2|3"]))
    return Line(cells)


def declare(folder):
    """What the command makes of a folder's table and code book."""
    asked = ["declare", "table.csv", "--from-codebook", "book.csv", "-o", "domain.json"]
    return main([str(folder / word) if "." in word else word for word in asked])


def written(folder, books):
    """A code book, a file that fits it, and what ``declare`` makes of both."""
    names = [f"c{i}" for i in range(len(books))]
    with (folder / "book.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, HEADER)
        writer.writeheader()
        writer.writerows({"name": name, **line.cells} for name, line in zip(names, books, strict=True))
    rng = np.random.default_rng(1)
    table = pd.DataFrame({name: line.column(rng) for name, line in zip(names, books, strict=True)})
    table.to_csv(folder / "table.csv", index=False)
    assert declare(folder) == 0
    return folder / "domain.json", names


def check_holds(line, attribute, words):
    """Every statement of a line, of the column's domain."""
    cells, there = line.cells, bool(attribute.lower or attribute.values)
    if cells.get("missing"):
        assert attribute.nullable == (cells["missing"] == "yes" or not there)
    if line.kind == "number":
        ends = [float(cells[word]) if cells.get(word) else None for word in ("min", "max")]
        is_whole = cells["type"] in ("integer", "int") and not cells.get("decimals")
        digits = "0" if is_whole else cells.get("decimals")
        if digits and there:
            assert attribute.kind == ("integer" if digits == "0" else "float")
            assert (attribute.decimals or 0) == int(digits)
        if not digits:
            assert attribute.provenance == "private", "digits that nobody declared are learned"
            assert "decimal_places" not in words
        for end, found in zip(ends, (attribute.lower[:1], [-v for v in attribute.upper[-1:]]), strict=True):
            sign = 1 if found is not None and found == attribute.lower[:1] else -1
            if end is not None and found:
                assert found[0] >= sign * end
        if cells.get("missing") and digits and None not in ends and ends[1] - ends[0] < 150 and digits == "0":
            assert attribute.provenance == "declared", "nothing else is learned"
    elif line.kind == "date" and there:
        if cells.get("min"):
            assert attribute.lower[0] >= pd.Timestamp(cells["min"]).value
        if cells.get("max"):
            assert attribute.upper[-1] <= pd.Timestamp(cells["max"]).value
    elif line.kind == "category" and cells.get("values"):
        assert [*map(str, attribute.values)] == cells["values"].split("|")
        assert attribute.provenance == "declared"


def fitted(folder, domain, **options):
    """A release of the table of a folder."""
    told = {"domain": domain, "epsilon": 20.0, "random_state": 1, "allow_no_claim": True}
    return fit_source(folder / "table.csv", **told, **options)


def voted(folder, domain):
    """One with types that the domain leaves open voted for."""
    return fitted(folder, domain, types="voted", model="independent")


@settings(max_examples=25)
@given(st.lists(lines(), min_size=1, max_size=5))
def test_what_declare_writes_fit_reads(books):
    """Both directions: what is said is in the domain, and what is not said is learned."""
    with TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name)
        try:
            output, names = written(folder, [*books, Line({"type": "boolean"})])
        except ValueError:
            return  # no code book
        declared = json.loads(output.read_text())["columns"]
        release = voted(folder, output)
        for line, column in zip(books, names, strict=False):
            if column in release.domain:
                check_holds(line, release.domain[column], declared[column])
            else:
                assert line.kind in ("id", "open")
        replay_domain(release)


def test_a_number_that_is_never_missing_needs_no_range(tmp_path):
    """The line of issue: it was refused, with a guess that numbers are categories. And one of no type."""
    output, _ = written(tmp_path, [Line({"type": "number", "missing": "no"})])
    assert json.loads(output.read_text())["columns"]["c0"]["range_is_nullable"] is False
    found = read_declarations(output, "private", 100, {"c0": {"sdtype": "numerical"}})
    assert found.never_missing == {"c0"}
    output.unlink()
    written(tmp_path, [Line({"missing": "no", "min": ""})])
    assert read_domain_file(output).without_blanks().beside["c0"]["range_is_nullable"] is False
    assert not voted(tmp_path, output).domain["c0"].nullable


def test_a_range_with_whole_ends_does_not_say_that_there_are_no_digits(tmp_path, capsys):
    """Rates from 0 to 35 have cents in the release, and ``check`` finds nothing. Control: type integer has none."""
    output, _ = written(tmp_path, [Line({"type": "number", "min": "0", "max": "35"})])
    assert main(["check", str(tmp_path / "table.csv"), "--domain", str(output)]) == 0
    assert "fraction" not in capsys.readouterr().out
    release = fitted(tmp_path, output)
    assert release.domain["c0"].decimals == 2
    sampled = release.sample(200)["c0"]
    assert (sampled % 1 > 0).mean() > 0.5
    book = tmp_path / "other.csv"
    book.write_text("name,type,min,max\nc0,integer,0,35\n")
    assert read_csv_codebook(book).columns["c0"]["decimal_places"] == 0


def test_codes_without_a_range_stand_alone(tmp_path):
    """Numbers and texts that the book names beside values that it does not tell."""
    rng = np.random.default_rng(0)
    cells = [f"{value:.0f}" for value in rng.uniform(0, 100, 1000)]
    cells = [str(rng.choice(["-9", "N"])) if i % 4 == 0 else cell for i, cell in enumerate(cells)]
    (tmp_path / "table.csv").write_text("\n".join(["pay", *cells]))
    words = {"sdtype": "numerical", "special_values": [-9, "N"], "range_is_nullable": False}
    release = fitted(tmp_path, {"pay": words})
    found = release.domain["pay"]
    assert found.values == ("N",)
    assert (-9, -9) in [*zip(found.lower, found.upper, strict=True)]
    rows = release.sample(1000)["pay"]
    assert 80 < (rows == "N").sum() < 180
    assert 80 < (rows == -9).sum() < 180
    assert rows.notna().all()
    replay_domain(release)


def test_a_book_that_contradicts_itself_is_refused_before_a_fit(tmp_path, capsys):
    """Control: values of a column that is invented are named, and left out."""
    (tmp_path / "table.csv").write_text("c0\n1\n")
    for line, rule in (("c0,integer,0.2,0.7", "there must be whole numbers"), ("c0,number,5,1", "range_min")):
        (tmp_path / "book.csv").write_text(f"name,type,min,max\n{line}\n")
        assert declare(tmp_path) != 0
        assert rule in capsys.readouterr().err
    (tmp_path / "book.csv").write_text("name,type,min,max\nc0,id,1,9\n")
    assert declare(tmp_path) == 0
    assert "range_min, range_max not used" in capsys.readouterr().out
    columns = json.loads((tmp_path / "domain.json").read_text())["columns"]
    assert columns["c0"] == {"sdtype": "id", "source": "book.csv"}
