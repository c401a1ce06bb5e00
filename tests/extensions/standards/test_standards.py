"""Descriptions of a release, each by its standard's own tool, or by its schema or shapes at a named version.

Tools are in the extra ``standards``. Shapes are others' work and not in the repository: point ``SDV_PLAUSIBLE_SHAPES``
at a folder with the files of ``SHAPES``, or these tests skip and say so.
"""

import hashlib
import json
import os
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import releases

from sdv_plausible import fit_source, to_standard
from sdv_plausible.extensions.codebooks.table_schema import read_table_schema
from sdv_plausible.extensions.standards import croissant, dcat, standards
from sdv_plausible.extensions.standards.release_description import KNOWN, describe_release
from sdv_plausible.extensions.standards.standards import STANDARDS
from sdv_plausible.privacy.ledger_record import LedgerRecord
from sdv_plausible.sdv.sdv_versions import TAKES_DICT
from sdv_plausible.table.cells.dates import utc_to_local
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.files.table_file import write_table

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of rdflib, and of who uses it
CASES = ("declared", "mixed", "private", "uniform")
EU = "http://publications.europa.eu/resource/authority"
FULL: dict[str, Any] = {
    "name": "Synthetic \"people\" & 'ü'", "description": "People of a town.", "holder": "Office of Numbers",
    "contact": "mailto:office@example.org", "purpose": "Teaching",
    "license": "https://creativecommons.org/licenses/by/4.0/", "url": "https://example.org/people",
    "download": "https://example.org/people.csv", "date": "2026-01-31", "version": "1.0.0",
    "citation": "Office of Numbers (2026)", "keywords": ["census", "people"], "identifier": "people-2025",
    "access": "https://example.org/apply", "access_rights": f"{EU}/access-right/NON_PUBLIC",
    "theme": [f"{EU}/data-theme/HEAL"], "legislation": "http://data.europa.eu/eli/reg/2025/327/oj",
    "category": "http://healthdataportal.eu/ns/health#a-category",
    "type": f"{EU}/dataset-type/STATISTICAL", "provenance": "Registers of the town", "hdab": "Health data office",
    "hdab_contact": "https://example.org/hdab",
}  # fmt: skip
SHAPES = {
    "dcat-ap-3.0.1-shapes.ttl": "7fe9815e0f32b10f5cbce74fa6ccd0290aae3ef9e5080fb84e2d8093eb984d1d",
    "dcat-ap-3.0.1-range.ttl": "24d3bfd0fa17a3d0e877c9ebb91c8174124e5038538e1bf081b2cb679ad0f1b2",
    "healthdcat-ap-release-5-non-public.ttl": "e4b9a07e60c7bccec1560f9c31b418c9210af2748fbd3c986a47e8596a8a8525",
    "dpv-2.3.ttl": "97bc7ce1a4544d39b9e480eeb7990693bee1155fb094f3dd50b9eb1d0c0d578f",
}
"""Of SEMICeu/DCAT-AP at 7c531da7 releases/3.0.1/html/shacl/shapes.ttl and range.ttl (CC BY 4.0); HealthDCAT-AP's shapes
for data that are not public, of which only a copy could be had: ma3u/MinimumViableDataspace at 573aba3d
resources/shacl/healthdcatap-shacl.ttl, there called release 5 of DG SANTE; of w3c/dpv at f01a55c3 2.3/dpv/dpv.ttl."""


def with_rows(case: str, number: int, folder: Path) -> tuple[Any, Path]:
    """A release, and a file of its rows."""
    release, rows = releases.shared(case).release(), folder / "rows.csv"
    write_table(release.sample(number, random_state=1), rows)
    return release, rows


@pytest.fixture(
    scope="module", params=[*CASES[:2], *(pytest.param(c, marks=pytest.mark.slow) for c in CASES[2:])]
)
def case(request, tmp_path_factory):
    return with_rows(request.param, 400, tmp_path_factory.mktemp("rows"))


@pytest.fixture(scope="module")
def declared(tmp_path_factory):
    return with_rows("declared", 100, tmp_path_factory.mktemp("rows"))


def made(release: Any, standard: str, rows: Path | None = None, **known: Any) -> dict[str, Any]:
    return json.loads(to_standard(release, standard, rows=rows, **known))


def tool(name: str) -> Any:
    return pytest.importorskip(name, reason="pip install 'sdv-plausible[standards]'")


@pytest.mark.parametrize("standard", STANDARDS)
def test_what_is_said_is_there_and_what_is_not_leaves_no_blank(declared, standard):
    release, rows = declared
    text = to_standard(release, standard, rows=rows, **FULL)
    for name in STANDARDS[standard].facts:
        said = FULL[name] if isinstance(FULL[name], list) else [FULL[name]]
        assert all(json.dumps(one, ensure_ascii=False)[1:-1] in text for one in said), name
    if standard != "sdv":
        words = LedgerRecord.of(release.ledger.to_dict()).words
        assert words.lead in text
        assert words.total in text
    bare = to_standard(release, standard)
    assert ": null" not in bare
    assert '""' not in bare.replace('"missingValues": [\n  ""', "")


def test_every_field_has_a_place_in_a_standard():
    assert {name for standard in STANDARDS.values() for name in standard.facts} == set(KNOWN) == set(FULL)


def test_what_no_standard_takes(declared, tmp_path):
    for known, words in (
        ({"nmae": "x"}, "nmae is nothing that a standard says; there are name, description"),
        ({"name": ""}, "must be a text"), ({"name": ["a", "b"]}, "must be a text"),
        ({"keywords": ["a", 5]}, "must be a text"),
        ({"date": "31.1.2026"}, "as 2026-01-31"), ({"url": "example.org"}, "address of a page"),
        ({"license": "https://x <y>"}, "address of the license"), ({"rows": "none.csv"}, "none.csv"),
    ):  # fmt: skip
        with pytest.raises((ValueError, OSError), match=words):
            to_standard(declared[0], "croissant", **known)
    (tmp_path / "rows.csv").write_text("city,grade\nBern,1\n")
    with pytest.raises(ValueError, match="other columns than this release"):
        to_standard(declared[0], "croissant", rows=tmp_path / "rows.csv")


def test_without_a_claim_there_is_none():
    release = releases.fitted(domain=releases.DECLARED, random_state=3).release(allow_no_claim=True)
    for standard in STANDARDS:
        with pytest.raises(ValueError, match="needs a release with a differential privacy guarantee"):
            to_standard(release, standard)


def test_croissant_by_its_own_tool(case, tmp_path):
    """``mlcroissant validate`` raises for whatever is wrong; here nothing is missed either, and the rows are read."""
    mlc, (release, rows) = tool("mlcroissant"), case
    here = {name: said for name, said in FULL.items() if name != "download"}
    rows.with_name("c.json").write_text(
        to_standard(release, "croissant", rows=rows, **here), encoding="utf-8"
    )
    found, not_covered = mlc.Dataset(rows.with_name("c.json")), list(release.ledger.not_covered)
    assert found.metadata.ctx.issues.warnings == set()
    assert str(found.metadata.ctx.conforms_to.value) == croissant.VERSIONS[0]
    assert {field.name for field in found.metadata.record_sets[0].fields} == {
        c.name for c in release.schema.columns
    }
    assert found.metadata.data_limitations[: len(not_covered)] == not_covered
    records = list(found.records("rows"))
    assert len(records) == 400
    (tmp_path / "bare.json").write_text(to_standard(release, "croissant"), encoding="utf-8")
    mlc.Dataset(tmp_path / "bare.json")


def test_croissant_addresses_of_columns_with_any_name(tmp_path):
    """None has white space, which ``mlcroissant`` refuses, and no two are one; the names stay as they are."""
    names = ['a/b c#"<', "a/b_c", "@id", "x y", "x\ty", "3", "1/x_y"]
    table = pd.DataFrame({name: ["u", "v"] * 100 for name in names})
    release = fit_source(table, domain={name: {"range_values": ["u", "v"]} for name in names}, epsilon=1.0)
    write_table(release.sample(20), tmp_path / "rows.csv")
    text = to_standard(release, "croissant", rows=tmp_path / "rows.csv")
    fields = json.loads(text)["recordSet"][0]["field"]
    assert [field["name"] for field in fields] == names
    assert len({field["@id"] for field in fields}) == len(names)
    assert all(re.fullmatch(r"rows/[\w.@/-]+", field["@id"]) for field in fields)


def test_planted_faults_are_seen_by_it(declared, tmp_path):
    mlc = tool("mlcroissant")
    for plant in (
        lambda d: d["distribution"][1].pop("sha256"),
        lambda d: d["distribution"][1].pop("contentUrl"),
        lambda d: d["recordSet"][0]["field"][0]["source"].update(fileObject={"@id": "none"}),
        lambda d: d["recordSet"][0]["field"][0].pop("dataType"),
        lambda d: d.update(conformsTo="http://mlcommons.org/croissant/9.9"),
    ):
        document = made(declared[0], "croissant", declared[1], **FULL)
        plant(document)
        (tmp_path / "c.json").write_text(json.dumps(document))
        with pytest.raises(mlc.ValidationError):
            mlc.Dataset(tmp_path / "c.json")


def test_table_schema_by_its_own_tool(case):
    frictionless, (release, rows) = tool("frictionless"), case
    document = made(release, "frictionless", **FULL)
    assert document["$schema"] == frictionless.Schema.metadata_v2_profile == standards.PROFILE
    assert list(frictionless.Schema.metadata_validate(document)) == []
    assert cell_errors(frictionless, document, rows) == []


def cell_errors(frictionless: Any, document: dict[str, Any], rows: Path) -> list[str]:
    schema = frictionless.Schema.from_descriptor(document)
    with frictionless.system.use_context(trusted=True):
        report = frictionless.validate(frictionless.Resource(path=str(rows), schema=schema))
    return [name for (name,) in report.flatten(["fieldName"])]


def test_planted_cells_are_seen_by_it(declared, tmp_path):
    frictionless, (release, rows) = tool("frictionless"), declared
    for column, cell in (
        ("city", "Genf"), ("age", "111"), ("age", "x"), ("share", "1.5"), ("day", "2000-01-01"), ("member", "5"),
    ):  # fmt: skip
        table = [line.split(",") for line in rows.read_text().splitlines()]
        table[5][table[0].index(column)] = cell
        (tmp_path / "rows.csv").write_text("\n".join(map(",".join, table)))
        assert cell_errors(frictionless, made(release, "frictionless"), tmp_path / "rows.csv") == [column]


def test_a_table_schema_is_a_declaration_again(case, tmp_path):
    """What was written of a declared domain is read to the same domain, but for bins, and texts beside numbers."""
    release, _ = case
    (tmp_path / "s.json").write_text(to_standard(release, "frictionless"), encoding="utf-8")
    book = read_table_schema(tmp_path / "s.json")
    modelled = release.rules.whole(release.domain)
    known = {name: words for name, words in book.columns.items() if words["sdtype"] and name in modelled}
    read = Domain.from_declarations(known)
    for attribute in modelled:
        if attribute.texts:
            assert book.columns[attribute.name]["sdtype"] is None
            continue
        found = read[attribute.name]
        assert (found.kind, found.nullable) == (attribute.kind, attribute.nullable)
        assert list(map(str, found.values)) == list(map(str, attribute.values))
        ends = attribute.lower[:1], attribute.upper[-1:]
        shown = [utc_to_local(np.array(end), attribute.time_zone).tolist() for end in ends]
        assert [list(found.lower[:1]), list(found.upper[-1:])] == shown  # the standard has no zone


@pytest.mark.skipif(not TAKES_DICT, reason="ranges are words of SDV 2.0's metadata")
def test_sdv_takes_its_metadata(case):
    from sdv.metadata import Metadata
    from sdv.metadata._single_table import _SingleTableMetadata

    release, _ = case
    found = Metadata.load_from_dict(made(release, "sdv"))
    found.validate()
    for sdtype, words in standards.FIELDS.items():
        assert set(words) <= set(_SingleTableMetadata._SDTYPE_KWARGS[sdtype])
    columns = found.to_dict()["tables"][release.schema.table]["columns"]
    for attribute in release.rules.whole(release.domain):
        words = columns[attribute.name]
        assert words["range_is_nullable"] == attribute.nullable
        assert ("range_min" in words) == bool(attribute.lower)
        assert ("range_values" in words) == bool(
            attribute.values and not attribute.lower and words["sdtype"] != "boolean"
        )
    assert found.tables[release.schema.table].primary_key == release.schema.primary_key


@pytest.fixture(scope="module")
def shapes() -> dict[str, Path]:
    folder = os.environ.get("SDV_PLAUSIBLE_SHAPES")
    if folder is None:
        pytest.skip("others' shapes are not in the repository: set SDV_PLAUSIBLE_SHAPES")
    found = {name: Path(folder) / name for name in SHAPES}
    for name, path in found.items():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == SHAPES[name], name
    return found


def violations(document: dict[str, Any], path: Path) -> list[str]:
    rdflib, pyshacl = tool("rdflib"), tool("pyshacl")
    graph = rdflib.Graph().parse(data=json.dumps(document), format="json-ld")
    _, report, _ = pyshacl.validate(graph, shacl_graph=str(path))
    said = rdflib.Namespace("http://www.w3.org/ns/shacl#").resultPath
    return sorted(str(path).rsplit("/")[-1].rsplit("#")[-1] for path in report.objects(None, said))


def test_dcat_by_shapes(case, shapes):
    release, rows = case
    for name in (name for name in SHAPES if "dcat" in name):
        assert violations(made(release, "dcat", rows, **FULL), shapes[name]) == []
        assert violations(made(release, "dcat", **FULL), shapes[name]) == []


def test_planted_faults_are_seen_by_shapes(declared, shapes):
    """A draft lacks of DCAT-AP the address of the rows alone, which only a person knows."""
    common, ranges, health = (name for name in SHAPES if "dcat" in name)
    assert violations(made(declared[0], "dcat"), shapes[common]) == ["accessURL"]
    for plant, name in (
        (lambda d: d.pop("dct:title"), common),
        (lambda d: d["adms:sample"][0]["spdx:checksum"]["spdx:checksumValue"].pop("@type"), common),
        (lambda d: d["dcat:landingPage"][0].pop("@type"), ranges),
        (lambda d: d["adms:sample"][0].pop("dcatap:applicableLegislation"), health),
        (lambda d: d.pop("healthdcatap:hdab"), health),
    ):
        document = made(declared[0], "dcat", **FULL)
        plant(document)
        assert violations(document, shapes[name]) != []


def test_terms_are_of_their_vocabulary(declared, shapes):
    """Every term of DPV is one of version 2.3, a class where it is a type, else a property."""
    text = json.dumps(made(declared[0], "dcat", **FULL))
    known = shapes["dpv-2.3.ttl"].read_text(encoding="utf-8")
    used = {*re.findall(r'"(dpv:\w+)"', text)}
    assert used == {"dpv:DifferentialPrivacy", "dpv:SyntheticData", "dpv:hasData", "dpv:hasTechnicalMeasure"}
    for term in used:
        kind = "rdf:Property" if ":has" in term else "rdfs:Class"
        assert re.search(rf"^{term} a {kind}\b", known, re.MULTILINE), term
    assert not re.search(r"^dpv:DiferentialPrivacy a ", known, re.MULTILINE)


def test_digests_are_of_what_is_described(declared):
    release, rows = declared
    of_rows = hashlib.sha256(rows.read_bytes()).hexdigest()
    assert of_rows in json.dumps(made(release, "dcat", rows))
    assert release.digest in json.dumps(made(release, "dcat"))
    told = [file["sha256"] for file in made(release, "croissant", rows)["distribution"]]
    assert told == [release.digest, of_rows]


def test_every_value_is_told_of_somewhere(declared):
    """Fields of the shared reading that no standard uses would be dead."""
    modules = (croissant, dcat, standards, standards)
    sources = "".join(Path(module.__file__).read_text() for module in modules)
    unused = {
        f.name for f in fields(describe_release(declared[0], {})) if f"description.{f.name}" not in sources
    }
    assert unused <= {"record", "file", "made_with"}


def test_values_of_a_file_are_no_markdown():
    """Descriptions are read as Markdown. Control: a plain value stands as it is."""
    names = ["[free](http://example.org)", "<b>x</b>", "plain"]
    rows = pd.DataFrame({"x": names * 20})
    domain = {"x": {"sdtype": "categorical", "range_values": names}}
    text = json.dumps(made(fit_source(rows, domain=domain, types="declared"), "frictionless"))
    told = [one["description"] for one in walked(json.loads(text)) if "description" in one]
    assert any("plain" in one for one in told)
    assert not any(re.search(r"(?<!\\)[\[\]<>]", one) for one in told)


def walked(value: Any) -> list[dict[str, Any]]:
    """All objects within a document."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = [value] if isinstance(value, dict) and isinstance(value.get("description"), str) else []
    return [*own, *(one for part in inner for one in walked(part))]
