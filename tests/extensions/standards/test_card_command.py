"""``card``: the page on a release, with what a person says."""

import json

from sentences import LEAD

from sdv_plausible import Release, to_standard
from sdv_plausible.cli.main import main
from sdv_plausible.extensions.standards.standards import STANDARDS
from sdv_plausible.release.card.privacy_card import DATA_PROTECTION


def card(holder, output, *more):
    return main(["card", str(holder / "people.release"), "-o", str(output), *more])


def test_a_card(holder, tmp_path, capsys):
    release = Release.load(holder / "people.release")
    more = ["--name", "Census people", "--declared-by", "A. Person", "--domain", str(holder / "domain.json")]
    for ending in ("html", "md", "json"):
        output = tmp_path / f"card.{ending}"
        assert card(holder, output, *more) == 0
        blanks = ", ".join(("holder", "purpose", "reviewed_by", "date", "registry", *DATA_PROTECTION))
        said = f"{release.ledger.words.first}\n\nWrote {output}\nNot given: {blanks}\n"
        assert capsys.readouterr().out == said
        text = output.read_text(encoding="utf-8")
        assert [word for word in ("Census people", "A. Person", release.digest) if word not in text] == []
        assert card(holder, output) == 2  # it exists
        capsys.readouterr()
    assert card(holder, tmp_path / "c.json", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["claim"] is True
    assert said["lead"].startswith(LEAD)
    assert json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))["known"]["name"] == "people"


def test_facts_of_a_data_protection_file_come_as_one_object_or_file(holder, tmp_path, capsys):
    """An option of the same name counts more than the file."""
    facts = {name: f"the {name}" for name in DATA_PROTECTION} | {"name": "of the file", "holder": "Office"}
    (tmp_path / "facts.json").write_text(json.dumps(facts))
    for i, known in enumerate((json.dumps(facts), str(tmp_path / "facts.json"))):
        assert card(holder, tmp_path / f"{i}.json", "--known", known, "--name", "of the option") == 0
        written = json.loads((tmp_path / f"{i}.json").read_text(encoding="utf-8"))["known"]
        assert {name: text for name, text in written.items() if text} == {**facts, "name": "of the option"}
    assert "Not given: purpose, declared_by, reviewed_by, date, registry\n" in capsys.readouterr().out


def check_refused(holder, output, capsys, more, words):
    assert card(holder, output, *more) == 2, more
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1
    assert not output.exists()


def test_mistakes(holder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(holder)
    page, described, audit = (tmp_path / name for name in ("c.html", "c.json", "audit.json"))
    for content, words in (
        ('{"may_be_published": false}', "real rows"),
        ("{", "is no audit"),
        ('{"may_be_published": false, "may_be_published": true}', "is no audit"),
    ):
        audit.write_text(content)
        check_refused(holder, page, capsys, ["--audit", str(audit)], words)
    for more, words in (
        (["--audit", "none.json"], "there is no file none.json"),
        (["--expect-sha256", "0" * 64], "is not the expected release"),
        (["--budget", "none", "1", "1e-8"], "there is no file none"),
        (["--name", " "], "must be a text"),
        (["--standard", "dcat"], "must end in .json or .jsonld"),
    ):
        check_refused(holder, page, capsys, more, words)
    sdv = ["--standard", "sdv"]
    for more, words in (
        (["--known", "[]"], "must be a JSON object"),
        (["--known", '{"owner": "x"}'], "owner is no field of a card"),
        (["--known", '{"retention": 3}'], "retention must be a text"),
        (["--rows", "people.csv"], "--rows has no effect without --standard"),
        ([*sdv, "--reviewed-by", "B. Person"], "--reviewed-by has no effect with --standard sdv"),
        ([*sdv, "--domain", "domain.json"], "--domain has no effect with --standard sdv"),
        ([*sdv, "--known", "[]"], "must be a JSON object"),
        ([*sdv, "--known", '{"nmae": "x"}'], "nothing that a standard says"),
    ):
        check_refused(holder, described, capsys, more, words)


def test_sources_of_other_words_are_not_cited(holder, declared, tmp_path, capsys):
    """Control: of words as they were fitted they are; of columns without a source nothing is said."""
    cited = {
        name: {**words, "source": f"Book of {name}"} for name, words in declared.items() if name != "sex"
    }
    cited["age"] |= {"range_max": 89}
    (tmp_path / "edited.json").write_text(json.dumps({**declared, **cited}))
    assert card(holder, tmp_path / "c.json", "--domain", str(tmp_path / "edited.json")) == 0
    (said,) = [line for line in capsys.readouterr().err.splitlines() if "source" in line]
    assert "no source is cited of age:" in said
    columns = json.loads((tmp_path / "c.json").read_text())["columns"]
    sources = {"age": "", "sex": "", "race": "Book of race", "hours_per_week": "Book of hours_per_week"}
    assert {line["column"]: line["source"] for line in columns} == sources


def test_a_description_by_a_standard(holder, tmp_path, capsys):
    known, rows = {"license": "https://example.org/license", "keywords": ["a", "b"]}, tmp_path / "rows.csv"
    assert main(["sample", str(holder / "people.release"), "-o", str(rows), "-n", "20"]) == 0
    capsys.readouterr()
    release, told = Release.load(holder / "people.release"), {"name": "people", "holder": "Office", **known}
    for standard, described in STANDARDS.items():
        output = tmp_path / f"{standard}.json"
        more = [
            "--standard",
            standard,
            "--holder",
            "Office",
            "--known",
            json.dumps(known),
            "--rows",
            str(rows),
        ]
        assert card(holder, output, *more, "--json") == 0
        said = json.loads(capsys.readouterr().out)
        assert said["not_said"] == [name for name in described.facts if name not in told]
        expected = to_standard(release, standard, rows=rows, file="people.release", **told)
        assert output.read_text(encoding="utf-8") == expected
        assert card(holder, output, *more) == 2  # it exists
        capsys.readouterr()
