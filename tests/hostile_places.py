"""All places where a text of a foreign document is shown, written or used: each takes hostile texts in a test.

A place is a function of a text and a folder. It puts the text into a document, does with it what users do, and
returns what was shown or written. A new reader of documents, or a new page, is one more line of `PLACES`.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch
from urllib.parse import quote

import numpy as np
import pandas as pd

from sdv_plausible import (
    Budget,
    FamilyRelease,
    Person,
    PlausibleDeniabilityMultiTableSynthesizer,
    PlausibleDeniabilitySynthesizer,
    Release,
)
from sdv_plausible.cli import main
from sdv_plausible.datasets import families_like, families_like_domain, families_like_metadata
from sdv_plausible.evaluation.classifiers import Training
from sdv_plausible.extensions.published_counts.count_importers import read_counts, read_sdmx
from sdv_plausible.extensions.standards.attestation import check_attestation, new_key
from sdv_plausible.rules import Implies
from sdv_plausible.sdv.metadata import metadata_from_columns

Document = Any
Step = str | int
MARKS = {"column": "column_mark", "value": "value_mark", "person": "whose_mark", "special": "special_mark"}


class Shown(NamedTuple):
    """What was shown or written: `kind` says what reads it."""

    kind: str  # "terminal", "page", "json", "yaml", "markdown"
    text: str
    beside: str = ""  # on standard error


Steps = list[list[Shown]]
Place = Callable[[str, Path], Steps]
"""What was shown, step by step: a step is one document, and what was made of it."""


# --- documents --------------------------------------------------------------------------------------------


@cache
def release_text() -> str:
    """A release file whose names are marks, which stand for nothing else."""
    rng, rows = np.random.default_rng(1), 300
    frame = pd.DataFrame(
        {
            "whose_mark": [f"p{i // 2}" for i in range(rows)],
            "column_mark": rng.choice(["value_mark", "other"], rows), "size": rng.integers(0, 50, rows),
            "day": [f"2020-01-0{1 + i % 9}" for i in range(rows)], "mail": ["a@b.c"] * rows,
        }
    )  # fmt: skip
    types = {
        "whose_mark": {"sdtype": "id"}, "column_mark": {"sdtype": "categorical"}, "size": {"sdtype": "numerical"},
        "day": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"}, "mail": {"sdtype": "email", "pii": True},
    }  # fmt: skip
    synth = PlausibleDeniabilitySynthesizer(
        metadata_from_columns(types), domain=DECLARED, undeclared="private", person=Person("whose_mark", rows=2),
        rules=[Implies({"column_mark": "other"}, {"size": {"max": 40}})],
    )  # fmt: skip
    synth.fit(frame)
    return synth.release().to_bytes().decode()


DECLARED: dict[str, Any] = {
    "column_mark": {"range_values": ["value_mark", "other"], "source": "source_mark"},
    "size": {"range_min": 0, "range_max": 60, "special_values": ["special_mark"]},
}


def marked(text: str, hostile: str, *marks: str) -> str:
    """A JSON text with a hostile text in the place of marks."""
    for mark in marks:
        text = text.replace(mark, json.dumps(hostile)[1:-1])
    return text


def texts_of(document: Document, at: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """Where the texts of a document are."""
    if isinstance(document, str):
        yield at
    keys = (
        document if isinstance(document, dict) else range(len(document)) if isinstance(document, list) else ()
    )
    for key in keys:
        yield from texts_of(document[key], (*at, key))


def with_text(document: Document, at: tuple[Step, ...], text: str) -> Document:
    """The document with another text at one place."""
    if not at:
        return text
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[at[0]] = with_text(document[at[0]], at[1:], text)
    return copy


def each(document: Document, text: str, path: Path, every: int = 1) -> Iterator[Document]:
    """The document with the text in the place of each of its texts (or of every so manieth), and in a file."""
    for at in [*texts_of(document)][::every]:
        other = with_text(document, at, text)
        path.write_text(json.dumps(other))
        yield other


# --- what is done with them -------------------------------------------------------------------------------


def ran(*arguments: object) -> Shown:
    """What a command prints, on both streams."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main.main([str(one) for one in arguments])
        except SystemExit:
            status = main.REFUSED
    if status == main.REFUSED:
        return Shown("refusal", out.getvalue() + err.getvalue())
    kind = "json" if "--json" in arguments else "verdict" if status else "terminal"
    return Shown(kind, out.getvalue(), err.getvalue())


def written(*paths: Path) -> list[Shown]:
    """What stands in files, which are then gone."""
    kinds = {".html": "page", ".yaml": "yaml", ".md": "markdown"}
    shown = [Shown(kinds[path.suffix], path.read_text(encoding="utf-8")) for path in paths if path.exists()]
    for path in paths:
        path.unlink(missing_ok=True)
    return shown


def of_release(release: Release) -> list[Shown]:
    """All that is made of a release without a command."""
    from sdv_plausible.extensions.standards.registry import to_registry
    from sdv_plausible.extensions.standards.standards import STANDARDS, to_standard
    from sdv_plausible.privacy.ledger_record import LedgerRecord
    from sdv_plausible.release.card.conformance import conformance_page

    card, ledger = release.card(), release.ledger
    return [
        *(Shown("terminal", str(one)) for one in (release, ledger, release.domain)), Shown("page", ledger.to_html()),
        Shown("page", release._repr_html_()), Shown("page", release.domain._repr_html_()), Shown("page", card.to_html()),
        Shown("markdown", card.to_markdown()), Shown("markdown", conformance_page(LedgerRecord.of(ledger.to_dict()))),
        Shown("json", card.to_json()), Shown("yaml", to_registry(ledger, domain=release.domain)),
        *(Shown("json", to_standard(release, name)) for name in STANDARDS),
    ]  # fmt: skip


def of_release_file(content: str, folder: Path) -> Steps:
    """All that the command line makes of a release file."""
    file = folder / "x.release"
    csv, html, yaml, md = (folder / f"made.{end}" for end in ("csv", "html", "yaml", "md"))
    file.write_text(content, encoding="utf-8")
    return [
        [ran("verify", file)], [ran("verify", file, "--json")], [ran("types", file)],
        [ran("sample", file, "-o", csv, "-n", 3, "--overwrite")], [ran("card", file, "-o", html), *written(html)],
        [ran("card", file, "-o", html, "--json"), *written(html)],
        [ran("registry", file, "-o", yaml, "--conformance", md), *written(yaml, md)],
    ]  # fmt: skip


def loaded_or_told(read: Callable[[], Any], use: Callable[[Any], list[Shown]]) -> list[Shown]:
    """What is made of a document, or the refusal of it, which Python prints as it is."""
    try:
        found = read()
    except (ValueError, OSError) as error:
        return [Shown("refusal", f"{error}\n")]
    return use(found)


def of_release_text(content: str, folder: Path) -> Steps:
    """The same, and what is made of it without a command."""
    made = loaded_or_told(lambda: Release.from_bytes(content.encode()), of_release)
    return [made, *of_release_file(content, folder)]


def release_names(text: str, folder: Path) -> Steps:
    """Columns, values and texts among numbers, everywhere in a release file."""
    content = release_text()
    for number, mark in enumerate((MARKS["column"], MARKS["value"], MARKS["special"])):
        content = marked(content, f"{text}{number}", mark)
    return of_release_text(content, folder)


def release_person(text: str, folder: Path) -> Steps:
    """The person's column, which the first sentences name."""
    return of_release_text(marked(release_text(), text, MARKS["person"]), folder)


def release_texts(text: str, folder: Path) -> Steps:
    """Every other text of a release file: each by itself, and all that are taken together."""
    document, seen, shown = json.loads(release_text()), set[tuple[Step, ...]](), Steps()
    for at in [*texts_of(document)]:
        kind = tuple("*" if isinstance(step, int) else step for step in at)
        if kind in seen or at[-1] in ("data", "sentence"):
            continue
        seen.add(kind)
        other = with_text(document, at, text)
        content = json.dumps(other).encode()
        refused = loaded_or_told(lambda content=content: Release.from_bytes(content), lambda _: [])
        document = document if refused else other
        shown.append(refused)
    return [*shown, *of_release_file(json.dumps(document), folder)]


@cache
def family_text() -> str:
    """A release file of related tables whose names are marks."""
    tables, metadata = families_like(40), json.loads(json.dumps(families_like_metadata()))
    metadata["tables"]["households"]["columns"]["column_mark"] = {"sdtype": "categorical"}
    tables["households"]["column_mark"] = ["value_mark", "other"] * 20
    domain = families_like_domain()
    domain["households"]["column_mark"] = {"range_values": ["value_mark", "other"]}
    synth = PlausibleDeniabilityMultiTableSynthesizer(metadata, domain=domain, epsilon=3.0)
    synth.fit(tables)
    return synth.release().to_bytes().decode()


def family(text: str, folder: Path) -> Steps:
    """A release file of related tables: names of tables, of columns, of keys, and values."""
    shown, file = Steps(), folder / "x.release"
    for number, marks in enumerate((("persons",), ("household_id", "column_mark", "value_mark"))):
        content = family_text()
        for at, mark in enumerate(marks):
            content = marked(content, text if number == 0 else f"{text}{at}", mark)
        file.write_text(content, encoding="utf-8")
        shown.append([ran("sample", file, "-o", folder / f"new{number}", "-n", 2)])
        shown.append([ran("verify", file)])
        shown.append([ran("card", file, "-o", folder / "c.html"), *written(folder / "c.html")])
        use = lambda found: [Shown("terminal", str(found)), Shown("page", found.card().to_html())]  # noqa: E731
        shown.append(loaded_or_told(lambda: FamilyRelease.load(file), use))
    return shown


def family_metadata(text: str, folder: Path) -> Steps:
    """Metadata and declarations of related tables, for a fit."""
    shown = Steps()
    for name, table in families_like(20).items():
        table.to_csv(folder / f"{name}.csv", index=False)
    metadata, quoted = json.dumps(families_like_metadata()), json.dumps(text)
    tables = folder / "households.csv", folder / "persons.csv"
    told = ("check", *tables, "--metadata", folder / "m.json", "--domain", folder / "d.json")
    (folder / "d.json").write_text(json.dumps(families_like_domain()))
    for mark in ("persons", "region", '"household_id"', '"categorical"'):
        (folder / "m.json").write_text(metadata.replace(mark, quoted if mark[0] == '"' else quoted[1:-1]))
        shown.append([ran(*told)])
    (folder / "m.json").write_text(metadata)
    (folder / "d.json").write_text(json.dumps({"persons": text}))
    return [*shown, [ran(*told)]]


def domain_file(text: str, folder: Path) -> Steps:
    """A domain file: each of its texts by itself, in a plan, a draft and a check."""
    columns: dict[str, Any] = {
        "name": {"sdtype": "categorical", "range_values": ["a", "b"], "source": "book"},
        "day": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d", "range_min": "2020-01-01", "range_max": "2020-12-31"},
        "seen": {"sdtype": "datetime", "time_zone": "UTC", "range_min": "2020-01-01", "range_max": "2020-12-31"},
        "id": {"sdtype": "id", "regex_format": "P[0-9]{4}"},
        "size": {"sdtype": "numerical", "range_min": 0, "range_max": 9, "special_values": ["?"], "number_format": "1,000"},
    }  # fmt: skip
    document = {"schema": "sdv-plausible-declarations/1", "columns": columns}
    file, table, shown = folder / "d.json", folder / "t.csv", Steps()
    table.write_text("name,day,seen,id,size\na,2020-01-01,2020-01-01,P0001,3\n")
    renamed = {**document, "columns": {text: columns["name"], "day": columns["day"]}}
    for one in (*(with_text(document, at, text) for at in texts_of(document)), renamed):
        file.write_text(json.dumps(one))
        shown += [[ran("plan", "--domain", file)], [ran("check", table, "--domain", file)]]
    return shown


def metadata_file(text: str, folder: Path) -> Steps:
    """Metadata of one table: each of its texts by itself."""
    day = {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"}
    number = {"sdtype": "id", "regex_format": "P[0-9]{4}"}
    people = {"columns": {"name": {"sdtype": "categorical"}, "day": day, "id": number}, "primary_key": "id"}
    document = {"METADATA_SPEC_VERSION": "V1", "tables": {"people": people}, "relationships": []}
    file = folder / "m.json"
    told = ("plan", "--metadata", file, "--epsilon", "1")
    shown = [[ran(*told)] for _ in each(document, text, file)]
    for mark in ("people", "name"):
        file.write_text(json.dumps(document).replace(mark, json.dumps(text)[1:-1]))
        shown.append([ran(*told)])
    return shown


def rules_file(text: str, folder: Path) -> Steps:
    """Rules: each of their texts by itself, and what such a rule says."""
    rules = [
        {"rule": "implies", "when": {"a": "x"}, "then": {"b": "y"}},
        {"rule": "inequality", "low": "p", "high": "q"},
        {"rule": "one_hot", "columns": ["u", "v"]},
    ]
    declared = {name: {"sdtype": "categorical", "range_values": ["x", "y"]} for name in "ab"}
    declared |= {name: {"sdtype": "numerical", "range_min": 0, "range_max": 9} for name in "pquv"}
    (folder / "d.json").write_text(json.dumps(declared))
    told = ("plan", "--domain", folder / "d.json", "--rules", folder / "r.json")
    return [[ran(*told)] for _ in each(rules, text, folder / "r.json")]


def budget_file(text: str, folder: Path) -> Steps:
    """A budget's file: each of its texts by itself."""
    path = folder / "b.json"
    Budget(2.0, 1e-6, path=path)
    document = json.loads(path.read_text())
    document["neighbours"] = {"rows": 1, "replace": False, "person": "patient"}
    document["fits"] = [{"when": "2020-01-01", "what": "a fit", "cost": {"epsilon": 0.5, "delta": 1e-9}}]
    read = lambda: str(Budget(2.0, 1e-6, path=path))  # noqa: E731
    return [
        loaded_or_told(read, lambda found: [Shown("terminal", found)]) for _ in each(document, text, path)
    ]


CODE_BOOKS: dict[str, str] = {
    "a.csv": 'name,type,values\n"TEXT",categorical,"1=TEXT; 2=b"\n',
    "b.csv": "TEXT,TEXT\n1,2\n",
    "a.xml": '<codeBook><dataDscr><var name="TEXT"><catgry><catValu>TEXT</catValu><labl>TEXT</labl></catgry><TEXT/></var>'
    "</dataDscr></codeBook>",
    "a.json": '{"type": "object", "properties": {"TEXT": {"type": "string", "enum": ["TEXT"], "pattern": "TEXT", "TEXT": 1}}}',
    "b.json": '{"fields": [{"name": "TEXT", "type": "string", "constraints": {"enum": ["TEXT"], "pattern": "TEXT"}}]}',
    "c.json": '{"TEXT": {"description": "TEXT", "dtype": "TEXT", "values": {"TEXT": "TEXT"}}}',
    "a.yaml": 'schema_type: dataframe\ncolumns:\n  "TEXT":\n    dtype: "TEXT"\n    checks: {isin: ["TEXT"], "TEXT": 1}\n',
    "b.yaml": "columns: TEXT\n",
    "a.sps": "VALUE LABELS name 1 'TEXT' 2 'b'.\nMISSING VALUES name (TEXT).\nTEXT.\n",
    "a.sql": 'CREATE TABLE "TEXT" ("TEXT" VARCHAR(9) CHECK ("TEXT" IN (\'TEXT\')), age INT);\n',
    "b.sql": "TEXT;\n",
    "a.names": "TEXT, b.\nage: continuous.\nTEXT: TEXT, x.\n",
}


def code_books(text: str, folder: Path) -> Steps:
    """Code books of every kind that is a text, drafted into a domain file, which is then planned."""
    (folder / "t.csv").write_text("name,age\n1,2\n")
    shown = []
    for name, form in CODE_BOOKS.items():
        quoted = json.dumps(text)[1:-1] if name.endswith((".json", ".yaml")) else text
        (folder / name).write_text(form.replace("TEXT", quoted), encoding="utf-8", newline="")
        (folder / "d.json").unlink(missing_ok=True)
        told = ("declare", folder / "t.csv", "-o", folder / "d.json", "--from-codebook", folder / name)
        shown.append([ran(*told)])
    return shown


def counts_files(text: str, folder: Path) -> Steps:
    """Counts of others: names, cells and the flow of an office's file."""
    file = folder / "c.csv"
    quoted = '"' + text.replace('"', '""') + '"'
    file.write_text(f"{quoted},count\n{quoted},3\n", encoding="utf-8")
    shown = [loaded_or_told(lambda: read_counts(file), lambda _: [])]
    file.write_text(f"DATAFLOW,SEX,OBS_VALUE\n{quoted},{quoted},3\n", encoding="utf-8")
    return [*shown, loaded_or_told(lambda: read_sdmx(file, {"SEX": "sex"}), lambda _: [])]


def statements(text: str, folder: Path) -> Steps:
    """Signed statements and keys: each text by itself, and no text at all of the kind."""
    key, file, statement = folder / "k.pem", folder / "x.release", folder / "x.release.intoto.jsonl"
    if not key.exists():
        new_key(key)
    file.write_text(release_text())
    signatures = [{"keyid": "k", "sig": "eA=="}]
    document = {"payloadType": "application/vnd.in-toto+json", "payload": "e30=", "signatures": signatures}
    read = lambda: check_attestation(statement, file, f"{key}.pub")  # noqa: E731
    shown = [loaded_or_told(read, lambda _: []) for _ in each(document, text, statement)]
    statement.write_text(text, encoding="utf-8")
    shown.append([ran("verify", file, "--key", f"{key}.pub")])
    (folder / "other.pub").write_text(f"-----BEGIN PUBLIC KEY-----\n{text}\n", encoding="utf-8")
    return [*shown, [ran("verify", file, "--key", folder / "other.pub")]]


def table_file(text: str, folder: Path) -> Steps:
    """A table of a stranger: its header and its cells, drafted, checked, inspected and compared."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({text: rng.choice([text, "other"], 60), "size": rng.integers(0, 9, 60)})
    frame.to_csv(folder / "t.csv", index=False)
    category = {"sdtype": "categorical", "range_values": ["other"]}
    (folder / "d.json").write_text(json.dumps({text: category, "size": {"sdtype": "numerical"}}))
    table = folder / "t.csv"
    page = folder / "page.html"
    with patch.object(Training, "predict", lambda self: np.full(len(self.test.trees), self.labels[0])):
        # what a classifier says is no text, and to train them takes four seconds
        reported = [ran("report", table, table, "-o", page, "--domain", folder / "d.json"), *written(page)]
    return [
        [ran("check", table, "--domain", folder / "d.json")],
        [ran("declare", table, "-o", folder / "new.json", "--from-public", table)],
        [ran("inspect", table, table, "-o", page), *written(page)],
        reported,
    ]


def audit_file(text: str, folder: Path) -> Steps:
    """An audit's result on a card."""
    stage = {
        "name": "s", "threat": "t", "verdict": "nothing found", "confidence": 0.9, "words": "w", "figures": {},
    }  # fmt: skip
    document = {"may_be_published": True, "verdict": "nothing found", "synthesizer": "s", "claimed_epsilon": 1.0, "delta": 1e-9,
                "public": True, "stages": [stage]}  # fmt: skip
    (folder / "x.release").write_text(release_text())
    page = folder / "c.html"
    told = ("card", folder / "x.release", "-o", page, "--audit", folder / "a.json")
    return [[ran(*told), *written(page)] for _ in each(document, text, folder / "a.json")]


def ledger_file(text: str, folder: Path) -> Steps:
    """A ledger's JSON text, of which papers are made."""
    document = Release.from_bytes(release_text().encode()).ledger.to_dict()
    papers = folder / "e.yaml", folder / "E.md"
    told = ("registry", folder / "l.json", "-o", papers[0], "--conformance", papers[1])
    return [[ran(*told), *written(*papers)] for _ in each(document, text, folder / "l.json", 3)]


def app_pages(text: str, folder: Path) -> Steps:
    """The app: a table's name, header and cells, a domain file and a code book that are sent."""
    from apps import Place, new_token

    from sdv_plausible.extensions.app.pages.sessions import private_sessions

    quoted = '"' + text.replace('"', '""') + '"'
    with private_sessions(new_token) as sessions:
        browser = Place(sessions).browser()
        domain = json.dumps({text: {"sdtype": "categorical", "range_values": [text], "source": text}})
        content, sent = f"{quoted},b\n{quoted},2\n".encode(), ("d.json", domain.encode())
        answers = [browser.open("t.csv", content, domain=sent)]
        answers += [browser.get(page) for page in ("", "columns/", "rules", "budget")]
        answers.append(browser.post("rules", person=text, rules=text))
        answers.append(browser.post("budget", epsilon=text))
        answers.append(browser.get(f"files/{quote(text, safe='')}"))
    pages = [answer for answer in answers if "html" in answer.headers.get("content-type", "")]
    return [[Shown("form", page.text)] for page in pages]


def uploaded_names(text: str, folder: Path) -> Steps:
    """Names of files that a browser sends."""
    from sdv_plausible.extensions.app.pages.uploads import safe_file_name

    return [[Shown("name", safe_file_name(text)), Shown("name", safe_file_name(f"{text}.csv"))]]


def pictures(text: str, folder: Path) -> Steps:
    """Pictures of pages."""
    from sdv_plausible.evaluation.page.charts import box_plot, horizontal_bars, line_plot, network_graph

    made = (
        horizontal_bars(text, [text, "b"], [(text, [0.1, 0.2], "#000")]),
        line_plot(text, ["1", text], [(text, [0.1, 0.2])], (text, text)),
        box_plot(text, [(text, [0.1, 0.2, 0.4], "#000")], text),
        network_graph({text: [], "b": [text]}),
    )
    return [[Shown("picture", str(one)) for one in made]]


PLACES: dict[str, Place] = {
    "names in a release file": release_names, "the person in a release file": release_person,
    "other texts of a release file": release_texts, "a release file of related tables": family,
    "metadata and declarations of related tables": family_metadata, "a domain file": domain_file,
    "metadata": metadata_file, "rules": rules_file, "a budget file": budget_file, "code books": code_books,
    "counts of others": counts_files, "statements and keys": statements, "a table": table_file,
    "an audit": audit_file, "a ledger": ledger_file, "the app": app_pages,
    "names of files that are sent": uploaded_names, "pictures": pictures,
}  # fmt: skip
