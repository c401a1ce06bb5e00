"""``card``: the page on a release, with what a person says."""

import json

import pytest
from sentences import LEAD

from sdv_plausible import Release, to_standard
from sdv_plausible.commands.cli import main
from sdv_plausible.release.papers.standards import STANDARDS


def card(holder, output, *more):
    return main(["card", str(holder / "people.release"), "-o", str(output), *more])


@pytest.mark.parametrize("ending", ["html", "md", "json"])
def test_a_card(holder, tmp_path, capsys, ending):
    output = tmp_path / f"card.{ending}"
    more = ["--name", "Census people", "--declared-by", "A. Person", "--domain", str(holder / "domain.json")]
    assert card(holder, output, *more) == 0
    release = Release.load(holder / "people.release")
    assert capsys.readouterr().out == (
        f"{release.ledger.words.first}\n\nWrote {output}\n"
        "To be filled in: holder, purpose, reviewed_by, date, registry\n"
    )
    text = output.read_text(encoding="utf-8")
    for words in ("Census people", "A. Person", release.digest):
        assert words in text
    assert card(holder, output) == 2  # it exists


def test_for_programs(holder, tmp_path, capsys):
    assert card(holder, tmp_path / "c.json", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["claim"] is True
    assert said["lead"].startswith(LEAD)
    assert json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))["known"]["name"] == "people"


@pytest.mark.parametrize(
    ("content", "more", "words"),
    [
        ('{"may_be_published": false}', (), "real rows"),
        ("{", (), "is no audit"),
        ('{"may_be_published": false, "may_be_published": true}', (), "is no audit"),
        (None, ("--audit", "none.json"), "there is no file none.json"),
        (None, ("--expect-sha256", "0" * 64), "is not the release that was expected"),
        (None, ("--budget", "none", "1", "1e-8"), "there is no file none"),
        (None, ("--name", " "), "must be a text"),
    ],
)
def test_mistakes(holder, tmp_path, capsys, content, more, words):
    if content is not None:
        (tmp_path / "audit.json").write_text(content)
        more = ("--audit", str(tmp_path / "audit.json"))
    assert card(holder, tmp_path / "c.html", *more) == 2
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1
    assert not (tmp_path / "c.html").exists()


def test_sources_of_other_words_are_not_cited(holder, declared, tmp_path, capsys):
    """Control: of words as they were fitted they are; of columns without a source nothing is said."""
    cited = {
        name: {**words, "source": f"Book of {name}"} for name, words in declared.items() if name != "sex"
    }
    cited["age"] |= {"range_max": 89}
    (tmp_path / "edited.json").write_text(json.dumps({**declared, **cited}))
    assert card(holder, tmp_path / "c.json", "--domain", str(tmp_path / "edited.json")) == 0
    said = [line for line in capsys.readouterr().err.splitlines() if "source" in line]
    assert len(said) == 1
    assert "no source is cited of age:" in said[0]
    columns = {
        line["column"]: line["source"] for line in json.loads((tmp_path / "c.json").read_text())["columns"]
    }
    assert columns == {
        "age": "",
        "sex": "",
        "race": "Book of race",
        "hours_per_week": "Book of hours_per_week",
    }


@pytest.mark.parametrize("standard", STANDARDS)
def test_a_description_by_a_standard(holder, tmp_path, capsys, standard):
    output, known = tmp_path / "d.json", {"license": "https://example.org/license", "keywords": ["a", "b"]}
    assert main(["sample", str(holder / "people.release"), "-o", str(tmp_path / "rows.csv"), "-n", "20"]) == 0
    capsys.readouterr()
    more = [
        "--standard",
        standard,
        "--holder",
        "Office",
        "--known",
        json.dumps(known),
        "--rows",
        str(tmp_path / "rows.csv"),
    ]
    assert card(holder, output, *more, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["not_said"] == [
        n for n in STANDARDS[standard].asks if n not in ("name", "holder", "license", "keywords")
    ]
    release, rows = Release.load(holder / "people.release"), tmp_path / "rows.csv"
    told = {"name": "people", "holder": "Office", **known}
    assert output.read_text(encoding="utf-8") == to_standard(
        release, standard, rows=rows, file="people.release", **told
    )
    assert card(holder, output, *more) == 2  # it exists


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--known", "{}"), "--known plays no part without --standard"),
        (("--rows", "people.csv"), "--rows plays no part without --standard"),
        (
            ("--standard", "sdv", "--reviewed-by", "B. Person"),
            "--reviewed-by plays no part in --standard sdv",
        ),
        (("--standard", "sdv", "--domain", "domain.json"), "--domain plays no part in --standard sdv"),
        (("--standard", "sdv", "--known", "[]"), "must be a JSON object"),
        (("--standard", "sdv", "--known", '{"nmae": "x"}'), "nothing that a standard says"),
    ],
)
def test_what_plays_no_part_in_it(holder, tmp_path, capsys, monkeypatch, more, words):
    monkeypatch.chdir(holder)
    assert card(holder, tmp_path / "c.json", *more) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "c.json").exists()


def test_a_description_is_json(holder, tmp_path, capsys):
    assert card(holder, tmp_path / "c.html", "--standard", "dcat") == 2
    assert "must end in .json or .jsonld" in capsys.readouterr().err
