"""What a file says of its privacy: its entries are added up anew, and no other word or total of it is ever shown.

The files in ``stored/`` are of version 0.1, before these rules: :func:`make_stored` wrote them, from simulated people.
"""

import html
import json
import math
import re
from dataclasses import asdict, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from sdv_plausible import PlausibleDeniabilitySynthesizer, Release, fit_source
from sdv_plausible.cli.main import main
from sdv_plausible.datasets import census_like, census_like_metadata
from sdv_plausible.evaluation.page.sections import GuaranteeSection
from sdv_plausible.extensions.standards.standards import STANDARDS
from sdv_plausible.extensions.verify.independent.all_checks import check
from sdv_plausible.fitting.domain_learning import learned_file
from sdv_plausible.fitting.reused_domain import read_reused_domain
from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.privacy import ledger as ledgers
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.release.card.card_contents import LIMITS
from sdv_plausible.release.file import ledger_section as sections
from sdv_plausible.release.file.json_documents import write
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.table.declared.domain_file import DomainFile
from tests.flat import values

STORED = Path(__file__).parent / "stored"
COLUMNS = ("marital_status", "sex", "income_class", "hours_per_week")
DECLARED = {name: census_like_metadata()[name] for name in COLUMNS}
DECLARED["hours_per_week"] |= {"bins": 5}
TYPES = {name: {"sdtype": words["sdtype"]} for name, words in DECLARED.items()}
TYPES["home"] = {"sdtype": "id", "regex_format": "P[0-9]{4}"}
KINDS: dict[str, dict[str, Any]] = {
    "default": {},
    "seeds": {"omega": 2, "k": 3, "epsilon0": 2.0, "delta": 1e-6, "structure": {"income_class": ["sex"]}},
    "copula": {"model": "gaussian_copula"},
    "latent": {"model": "latent", "epsilon": 4.0, "model_parameters": {"hidden": 8, "latent": 2}},
    "person": {"person": "home", "rows_per_person": 3, "neighbours": "replace_one"},
    "split": {"structure": "cfs", "split": (0.3, 0.3, 0.4), "epsilon": 2.0},
    "no_claim": {"domain": {"sex": DECLARED["sex"]}, "undeclared": "infer"},
    "learned": {"domain": STORED / "learned.domain.json"},
}


def make_stored() -> None:
    """How the files were made: not again, or they were files of today."""
    rows = census_like(2000, random_state=7)[[*COLUMNS]]
    rows["home"] = [f"P{i // 3:04d}" for i in range(len(rows))]
    learned_file(rows, DomainFile(columns=TYPES), 0.2, 1e-10, max_bins=6).save(KINDS["learned"]["domain"])
    for kind, options in KINDS.items():
        synth = PlausibleDeniabilitySynthesizer(
            metadata_from_columns(TYPES), **values(**{"domain": DECLARED, **options})
        )
        synth.fit(rows)
        synth.release(allow_no_claim=kind == "no_claim").save(STORED / f"{kind}.release")


def document(kind: str = "default") -> Any:
    return json.loads((STORED / f"{kind}.release").read_text(encoding="utf-8"))


def loaded(changed: Any) -> Release:
    return Release.from_bytes(write(changed))


def total_of(kind: str) -> float:
    return loaded(document(kind)).ledger.total()


def check_stored(kind: str) -> Release:
    path = STORED / f"{kind}.release"
    release = Release.load(path, sha256(path.read_bytes()).hexdigest())
    assert release.to_bytes() == path.read_bytes(), "what stood there stays, and with it the digest"
    rows = release.sample(30, random_state=1)
    assert list(rows.columns) == list(TYPES)
    assert rows["home"].is_unique
    assert rows["sex"].isin(DECLARED["sex"]["range_values"]).all()
    return release


@pytest.mark.parametrize("kind", KINDS)
def test_stored_files_are_read(kind):
    release, stored = check_stored(kind), document(kind)["ledger"]
    assert release.ledger.claims_privacy == (kind != "no_claim")
    assert release.ledger.sentence(as_written=True) == stored["sentence"]
    if kind != "no_claim":
        assert release.ledger.total() == pytest.approx(stored["epsilon"], rel=ledgers.TOLERANCE)
        card = release.card()
        said = f"{card.total.removesuffix('.')}: {card.conditions[:1].lower()}{card.conditions[1:]}"
        assert (card.lead, said) == (release.ledger.meaning(), stored["sentence"])


def test_a_limit_that_stands_there_stays():
    """And with it the digest. Control: none is none."""
    changed = document()
    changed["ledger"]["limit"] = 2.5
    release = loaded(changed)
    assert (release.ledger.limit, release.to_bytes()) == (2.5, write(changed))
    assert loaded(document()).ledger.limit is None


def reword(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version's words: of the sentence after its total, of the unit, of what is covered and what not."""
    whole = ledgers.PrivacyLedger.sentence

    def sentence(self: Any) -> str:
        return f"{whole(self).split(', ')[0]}, in other words."

    monkeypatch.setattr(ledgers.PrivacyLedger, "sentence", sentence)
    monkeypatch.setattr(ledgers, "NOT_COVERED", ("something else",))
    monkeypatch.setattr(ReleaseTest, "covers", "other things")
    for name in ("unit", "relation", "comparison", "question"):
        monkeypatch.setattr(Neighbours, name, f"another {name}")


@pytest.mark.parametrize("kind", KINDS)
def test_stored_files_are_read_after_a_rewording(kind, monkeypatch):
    reword(monkeypatch)
    release, stored = check_stored(kind), document(kind)["ledger"]
    card = release.card()
    assert str(release).endswith(f"\n{card.lead} {card.total}".rstrip())
    assert (card.total or card.lead).endswith(", in other words.")
    assert card.facts["covers"] == "other things"
    assert card.not_covered[-len(LIMITS) - 2] == "Something else."
    for old in (stored["sentence"], stored["not_covered"][0]):
        assert old not in str(release) + str(release.ledger) + card.to_markdown()


def test_a_stored_domain_is_read(monkeypatch):
    """After a rewording, too."""
    for change in (lambda _: None, reword):
        change(monkeypatch)
        earlier = read_reused_domain(KINDS["learned"]["domain"], ONE_ROW)
        assert any(entry.losses for entry in earlier.entries)
        assert all(entry.mechanism.startswith("learned earlier at epsilon 0.2 ") for entry in earlier.entries)


LIES: dict[str, Any] = {
    "sentence": "Total epsilon 0.001 at delta 1e-12, LIE for everybody.",
    "covers": "LIE everything) is at most 1.01 times as likely (",
    "not_covered": ["LIE nothing"],
}


def doors(release: Release, folder: Path) -> list[str]:
    """All texts that can be printed of a release, as a reader sees each."""
    release.save(folder / "x.release")

    def papers(command: str, *options: str) -> None:
        assert main([command, str(folder / "x.release"), "--overwrite", *options]) == 0

    for ending in ("html", "md", "json"):
        papers("card", "-o", str(folder / f"card.{ending}"))
    if release.ledger.claims_privacy:
        papers("registry", "-o", str(folder / "entry.yaml"), "--conformance", str(folder / "TABLE.md"))
        for standard in STANDARDS:
            papers("card", "--standard", standard, "-o", str(folder / f"{standard}.json"))
    written = [_read(path) for path in folder.iterdir() if path.suffix != ".release"]
    synth, ledger = PlausibleDeniabilitySynthesizer.from_release(release), release.ledger
    shown = [release, ledger, synth, synth.privacy_ledger(), _seen(ledger._repr_html_())]
    plain = [ledger.to_dict(), release.card().to_dict(), asdict(GuaranteeSection.of(ledger))]
    return [*(text for texts in [*written, *map(_texts, plain)] for text in texts), *map(str, shown)]


def _read(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    if path.suffix in (".json", ".yaml"):
        return _texts(json.loads(text) if path.suffix == ".json" else yaml.safe_load(text))
    return [_seen(text)] if path.suffix == ".html" else text.splitlines()


def _seen(page: str) -> str:
    """Text of a page."""
    return html.unescape(re.sub("<[^>]*>", " ", re.sub("<style.*?</style>", "", page, flags=re.DOTALL)))


def _texts(value: Any) -> list[str]:
    """Texts of a plain document."""
    if isinstance(value, dict):
        return [text for one in value.items() for text in _texts(list(one))]
    if isinstance(value, (list, tuple)):
        return [text for one in value for text in _texts(one)]
    return [str(value)]


@pytest.mark.parametrize("kind", ["default", "person", "no_claim"])
def test_words_that_a_file_makes_up_are_shown_nowhere(kind, tmp_path, capsys):
    changed = document(kind)
    changed["ledger"] |= LIES
    shown = "".join(doors(loaded(changed), tmp_path)) + capsys.readouterr().out
    assert "LIE" not in shown
    assert shown.count(document(kind)["ledger"]["sentence"].split(":")[0]) > 5


FORGED = "Certified by the Federal Office: epsilon 0.001"
QUOTED = re.compile("""(?<!\\w)"[^"]*"(?!\\w)|(?<!\\w)'[^']*'(?!\\w)""")


def forged(document: Any) -> Any:
    """A file with such a text wherever the format takes any."""
    for entry in document["ledger"]["entries"]:
        entry.update(dict.fromkeys(("mechanism", "note", "scope"), f'{FORGED}"; {FORGED}'))
        entry["name"] += f" {FORGED}" if entry["losses"] else ""
    for answer in document["answers"]["asked"]:
        answer["paid_by"] = [f"{name} {FORGED}" for name in answer["paid_by"]]
    document["schema"]["table"] = FORGED.replace(":", "")  # which no table's name may hold
    return document


@pytest.mark.parametrize("kind", ["default", "person", "no_claim"])
def test_texts_of_entries_are_quoted_by_every_door(kind, tmp_path, capsys):
    """In the file's words alone. Control: they are there, in quotation marks."""
    shown = [*doors(loaded(forged(document(kind))), tmp_path), capsys.readouterr().out]
    assert sum(text.count(FORGED) for text in shown) > 20
    assert [text for text in shown if FORGED in QUOTED.sub("", text)] == []


def test_texts_that_are_not_quoted_would_be_caught(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(ledgers.PrivacyLedger, "is_recorded", property(lambda _: False, lambda *_: None))
    with pytest.raises(AssertionError):
        test_texts_of_entries_are_quoted_by_every_door("default", tmp_path, capsys)


def test_words_of_the_file_that_are_shown_would_be_caught(tmp_path, capsys, monkeypatch):
    def believing(*parts):
        ledger, said = sections.read_ledger(*parts)
        ledger.covers = said.covers
        return ledger, said

    monkeypatch.setattr("sdv_plausible.release.file.all_sections.read_ledger", believing)
    with pytest.raises(AssertionError):
        test_words_that_a_file_makes_up_are_shown_nowhere("default", tmp_path, capsys)


def check_total(kind: str, factor: float) -> None:
    """What a file is taken for that states so many times what its entries add up to."""
    changed, true = document(kind), total_of(kind)
    changed["ledger"]["epsilon"] = true * factor
    if factor < 1 - ledgers.TOLERANCE:
        with pytest.raises(
            ValueError, match="ledger.epsilon: must not be below what the entries add up"
        ) as raised:
            loaded(changed)
        assert "\n" not in str(raised.value)
        return
    release, most = loaded(changed), max(true, true * factor)
    assert release.ledger.total() == most
    assert release.card().facts["total"].startswith(f"epsilon {ledgers.rounded_up(most)} ")
    assert release.ledger.total(1e-6) < release.ledger.total(), "at another delta nothing was stated"


@pytest.mark.parametrize("kind", ["default", "split"])
def test_a_total_is_never_below_what_the_entries_add_up_to_nor_what_was_stated(kind):
    for factor in (0.0, 0.5, 1 - 2e-6, 1 - 5e-7, 1.0, 1 + 5e-7, 3.0, 1e12):
        check_total(kind, factor)


def test_a_total_that_is_believed_is_caught(monkeypatch):
    monkeypatch.setattr(sections, "TOLERANCE", 2.0)
    with pytest.raises(pytest.fail.Exception):
        check_total("default", 0.5)


def test_a_learned_domain_is_read_by_the_same_rule():
    for factor in (0.5, 1 - 2e-6, 1.0, 2.0):
        changed = json.loads(KINDS["learned"]["domain"].read_text(encoding="utf-8"))
        stated = changed["learned"]["ledger"]["epsilon"] * factor
        changed["learned"]["ledger"] |= {"epsilon": stated, "sentence": LIES["sentence"]}
        if factor < 1:
            with pytest.raises(ValueError, match="must not be below the composed total of the entries"):
                read_reused_domain(changed, ONE_ROW)
        else:
            assert f"at epsilon {stated:.3g} " in read_reused_domain(changed, ONE_ROW).entries[0].mechanism


def test_an_amplified_total_is_believed_of_the_learner_that_has_it_alone():
    """The finer account of a split holds for the paper's learner; the coarser one is above it."""
    changed = document("split")
    changed["settings"] |= {"structure": None}
    with pytest.raises(ValueError, match="must not be below the composed total of the entries"):
        loaded(changed)
    unknown = {name: value for name, value in document("split")["settings"].items() if name != "model"}
    assert loaded({**document("split"), "settings": unknown}).ledger.total() == total_of("split")


def entry(changed: Any, part: str) -> Any:
    return next(e for e in changed["ledger"]["entries"] if part in e["parts"] and e["losses"])


def without_losses(part: str) -> Any:
    """An entry that costs nothing any more, and a total that agrees."""

    def change(changed: Any) -> None:
        entry(changed, part)["losses"] = []
        costs = any(e["losses"] for e in changed["ledger"]["entries"])
        changed["ledger"]["epsilon"] = 1e6 if costs else 0.0

    return change


def in_entries(**change: Any) -> Any:
    return lambda changed: entry(changed, "parameters")["losses"][0].update(change)


def in_ledger(**change: Any) -> Any:
    return lambda changed: changed["ledger"].update(change)


LAPLACE = {"type": "DiscreteLaplaceLoss", "epsilon": 1.0, "count": 1}


def many_losses(changed: Any) -> None:
    """In two entries, of which neither has too many."""
    entry(changed, "parameters")["losses"] *= 600
    changed["ledger"]["entries"].append(entry(changed, "parameters"))


CORRUPT: dict[str, tuple[str, Any, str]] = {
    "negative": ("default", in_entries(sensitivity_over_sigma=-1), "must be a finite number"),
    "nothing": ("default", in_entries(sensitivity_over_sigma=0), "must be a finite number above 0"),
    "tiny": ("default", in_entries(sensitivity_over_sigma=1e-300), "ledger: "),
    "huge": ("default", in_entries(sensitivity_over_sigma=1e300), "squares add up"),
    "large": ("default", in_entries(sensitivity_over_sigma=1e100), "squares add up"),
    "tiny beside no claim": ("no_claim", in_entries(sensitivity_over_sigma=1e-300), "ledger: "),
    "text": ("default", in_entries(sensitivity_over_sigma="0.1"), "must be a finite number"),
    "flag": ("default", in_entries(sensitivity_over_sigma=True), "must be a finite number"),
    "null": ("default", in_entries(sensitivity_over_sigma=None), "must be a finite number"),
    "list": ("default", in_entries(sensitivity_over_sigma=[0.1]), "must be a finite number"),
    "one more": ("default", in_entries(epsilon=0.1), "must have exactly the entries"),
    "another kind": ("default", in_entries(type="PureDP"), "must have exactly the entries"),
    "no kind": ("default", in_entries(type="RowLoss"), "must be one of"),
    "a fraction of uses": ("default", in_entries(count=0.5), "must be a whole number"),
    "endless uses": ("default", in_entries(count=2**62), "must be a whole number from 1 to 10000000"),
    "no end": ("default", in_entries(type="InfiniteLoss"), "must have exactly the entries"),
    "missing": ("default", lambda c: entry(c, "parameters")["losses"][0].pop("count"), "must have exactly"),
    "many losses": ("default", many_losses, "at most 1000 losses in all"),
    "no entry": ("default", in_ledger(entries=[]), "must be at least one entry"),
    "no delta": ("default", in_ledger(delta=5e-324), "delta .* must be below 1 and at least"),
    "whole delta": ("default", in_ledger(delta=1), "delta .* must lie strictly between"),
    "smaller delta": ("default", in_ledger(delta=1e-12), "must not be below the composed total of the entries"),
    "no claim that is one": ("default", in_ledger(epsilon=None), "null elsewhere"),
    "a claim that is none": ("no_claim", in_ledger(epsilon=1.0), "null elsewhere"),
    "model for nothing": ("default", without_losses("parameters"), "answers: each must be paid for by a ledger entry"),
    "domain for nothing": ("learned", without_losses("domain"), "pay for the domain that was learned"),
    "seeds for nothing": ("seeds", without_losses("seeds"), "pay for the seeds that are released"),
    "values of the rows": ("default", lambda c: c["domain"][0].update(provenance="inferred"), "must not state a privacy guarantee"),
    "values edited after a look": ("default", lambda c: c["domain"][0].update(provenance="edited"),
        "must not state a privacy guarantee"),
    "another unit": ("person", lambda c: c["ledger"]["neighbours"].update(rows_per_person=100),
        "settings: .* must be .* must match the ledger"),
    "another relation": ("default", lambda c: c["ledger"]["neighbours"].update(relation="replace_one"),
        "settings: .* must be .* must match the ledger"),
    "another test": ("default", lambda c: c["settings"].update(privacy_test="randomized"), "must be 'release'"),
    "a setting that is none": ("default", lambda c: c["settings"].update(certified=True),
        "settings.certified: is an unknown setting: remove it"),
    "options of no learner": ("default",
        lambda c: (c["settings"].pop("model"), c["settings"].update(model_parameters={"certified": True})),
        "settings.model_parameters: must be null where no model is named"),
    "sizes that a unit moves by more than any": ("seeds",
        lambda c: entry(c, "seeds")["losses"][0].update(l1=30_000_000),
        r"losses\[0\].l1: must be a whole number from 1 to 2000000"),
    "a number that a unit moves by more than any": ("seeds",
        lambda c: entry(c, "seeds").update(losses=[{**LAPLACE, "sensitivity": 2_000_001}]),
        r"losses\[0\].sensitivity: must be a whole number from 1 to 2000000"),
    "a source of no published table": ("default", lambda c: c["settings"].update(public_source="Federal Office"),
        "settings.public_source: must be absent: it has no effect without public_rows"),
    "losses that take minutes to add up": ("default",
        lambda c: entry(c, "parameters").update(losses=[{"type": "PureDP", "epsilon": 1e-300, "count": 10_000_000}]),
        "at most 2,000,000 uses of losses that are not Gaussian, and not 10,000,000"),
    "noise of a budget that nobody has": ("default",
        lambda c: entry(c, "parameters").update(
            losses=[{"type": "GaussianLoss", "sensitivity_over_sigma": 1e4, "count": 1}]),
        "squares add up to at most 2,000,000"),
    "a learner that is none": ("split", lambda c: c["settings"].update(model_parameters={"neurons": 3}),
        "model_parameters"),
}  # fmt: skip


@cache
def is_read(kind: str) -> bool:
    """Control: the file as it was."""
    return bool(loaded(document(kind)).card().title)


@pytest.mark.parametrize("case", CORRUPT)
def test_a_ledger_that_cannot_be_is_refused_when_it_is_read(case):
    kind, change, words = CORRUPT[case]
    changed = document(kind)
    assert is_read(kind)
    change(changed)
    with pytest.raises(ValueError, match=words) as raised:
        loaded(changed)
    assert "\n" not in str(raised.value)


def test_no_number_is_none_in_a_file():
    changed = document()
    in_entries(sensitivity_over_sigma=math.pi)(changed)
    for constant in (b"NaN", b"Infinity"):
        with pytest.raises(ValueError, match="which is not a JSON number"):
            Release.from_bytes(write(changed).replace(b"3.141592653589793", constant))


def test_what_costs_something_is_a_line_of_the_table():
    """An entry that is called like a sentence of the ledger is not left out of it."""
    changed, name = document(), "as printed"
    entry(changed, "parameters")["name"] = name
    for answer in changed["answers"]["asked"]:
        answer["paid_by"] = [name]
    release = loaded(changed)
    assert name in [line["name"] for line in release.ledger.to_dict()["entries"]]
    assert name in [line["name"] for line in release.card().costs]
    assert f"  {name}   epsilon" in str(release.ledger)


def test_parameters_of_another_fit_are_in_no_file():
    for kind, other, wrong in (
        ("default", {"neighbours": "replace_one"}, {"neighbours": "replace_one"}),
        ("split", {"model": "bayesian_network"}, {"split": None}),
    ):
        release, again = (
            Release.load(STORED / f"{kind}.release"),
            PlausibleDeniabilitySynthesizer.from_release,
        )
        assert again(release).release().ledger.total() == total_of(kind)
        assert again(release, **other).release().settings == release.settings  # for a fit to come
        with pytest.raises(ValueError, match="for other values, fit again"):
            replace(release, settings={**release.settings, **wrong})


def test_a_model_that_nothing_pays_for_is_refused():
    """Entries without a loss, no answers, and a total of 0. Control: a model of which nothing was learned."""
    domain = {"a": {"sdtype": "categorical", "range_values": ["x", "y"], "range_is_nullable": False}}
    for model in ("independent", "uniform"):
        release = fit_source(pd.DataFrame({"a": ["x"] * 90 + ["y"] * 10}), domain=domain, model=model)
        changed = json.loads(release.to_bytes(readable=True))
        for line in changed["ledger"]["entries"]:
            line["losses"] = []
        changed["ledger"]["epsilon"], changed["answers"] = 0.0, {"axes": [], "asked": []}
        if model == "uniform":
            assert loaded(changed).ledger.total() == 0
            continue
        with pytest.raises(ValueError, match="must pay for the model that was learned"):
            loaded(changed)


def test_options_without_effect_are_named():
    """Files of version 0.1 may have some. Control: files as they are written have none."""
    changed = document("default")

    def settings() -> Any:
        return {one.about: one for one in check(json.dumps(changed).encode())}["settings"]

    assert "without effect" not in settings().why
    changed["settings"].update(row_cap=5, gamma=2.0)
    words = r"without effect under privacy_test 'release': gamma \(2.0\), row_cap"
    with pytest.warns(UserWarning, match=words):
        loaded(changed)
    assert settings().state == "ok"
    assert settings().why.endswith("; without effect: gamma, row_cap")
