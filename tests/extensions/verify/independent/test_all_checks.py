"""`verify`: releases of every model and option agree with themselves, and lies about them are refused by name.

Nothing here is drawn but the releases, and a verdict hangs on no noise: the noise of an honest release is what
its entries say, whatever was drawn, and a planted lie is a lie of every release. So there is no false alarm.
"""

import json
import warnings
from pathlib import Path
from typing import Any

import agreeing
import numpy as np
import pandas as pd
import pytest
from cases import fast_and_slow
from lying import LEARN, LIES, array, asked, honest, more_entries, restated, stored, told

from sdv_plausible import Person, PlausibleDeniabilitySynthesizer, PublicTable, Release, fit_source
from sdv_plausible.extensions.verify.independent.all_checks import CANNOT_SHOW, CHECKS, _digest, check
from sdv_plausible.extensions.verify.verification import NO_CLAIM, Verification, verify
from sdv_plausible.fitting.domain_learning import learned_file
from sdv_plausible.release.file.json_documents import write
from sdv_plausible.rules import Implies, Inequality
from sdv_plausible.rules.rule_document import KINDS as RULE_KINDS
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.table.declared.domain_file import DomainFile
from tests import ruled
from tests.digests import others

CASES = agreeing.cases()
STORED = Path(__file__).parents[3] / "release/file/stored"
UNSEEN = ("correlated", "latent", "types")  # choices, sums over samples, a vote: their answers are in no file
UNCHECKABLE = ("as printed", "normal", "correlated", "latent", "no noise", "noise", "accounting")
SLOW = ("copula", "correlated", "latent")
FAST = {
    *agreeing.WRITTEN, *agreeing.MORE, "adaptive, row", "workload, person", "cfs, row", "given arcs, row",
    "normal, row", "as printed, row", "independent, person replaced", "uniform, row", "random, row",
}  # fmt: skip


def seen(content: bytes, folder: Path, public: Any = None) -> Verification:
    path = folder / "x.release"
    path.write_bytes(content)
    return verify(path, public=public)


def test_every_option_has_a_case():
    """And every model and unit. Control: a registry with one more."""
    assert agreeing.without_a_case() == []
    assert agreeing.guarded.models_without_a_case() == agreeing.guarded.units_without_a_case() == []
    assert len(CASES) >= 100
    assert len(LIES) >= 120
    assert len([*STORED.glob("*.release")]) >= 8
    assert sum(lie.consistent for lie in LIES.values()) >= 90
    assert {lie.case for lie in LIES.values()} <= {*CASES}
    assert {case.split(",")[0] for case in CASES} >= {*agreeing.MODELS, *agreeing.WRITTEN}


@pytest.mark.parametrize("case", fast_and_slow(CASES, lambda case: case in FAST))
def test_releases_agree(case, tmp_path):
    """Every claim is ok, but for those that cannot be checked: these are never called ok."""
    found = seen(agreeing.made(case).to_bytes(), tmp_path, CASES[case].get("public"))
    states = {verdict.about: verdict.state for verdict in found.verdicts}
    uncheckable = any(name in case.split(", ") for name in UNCHECKABLE) and "uniform" not in case
    unseen = any(name in case.split(", ") for name in UNSEEN)
    assert states.pop("model from its answers") == ("not checkable" if uncheckable else "ok"), str(found)
    assert states.pop("answers") == ("not checkable" if unseen else "ok"), str(found)
    assert {*states.values()} == {"ok"}, str(found)
    is_claimed = agreeing.made(case).ledger.claims_privacy
    assert (NO_CLAIM in found.result) == (found.passed and not is_claimed)
    assert found.passed == (not uncheckable and not unseen)
    assert Verification(found.verdicts, allow_unchecked=True).passed
    assert {"format", "digest", *CHECKS, "charges of the model", LEARN} <= {*states, "answers"}


@pytest.mark.parametrize("kind", sorted(path.stem for path in STORED.glob("*.release")))
def test_files_of_older_versions_agree(kind):
    """Their models were made by another learner: that is no lie, and not ok either."""
    if kind == "latent":
        pytest.skip("its entries take seconds: the same is a slow case above")
    found = verify(STORED / f"{kind}.release")
    assert not found.refused, str(found)
    older = kind in ("default", "learned", "no_claim", "person")
    assert {v.state for v in found.verdicts} == ({"ok", "not checkable"} if older else {"ok"})


@pytest.mark.parametrize("name", fast_and_slow(LIES, lambda name: LIES[name].case.split(",")[0] not in SLOW))
def test_lies_are_refused_by_name(name, tmp_path):
    """Control: the file without the lie, in the test above. A consistent lie is read by the product."""
    lie = LIES[name]
    content = told(lie)
    if lie.consistent:
        assert json.loads(Release.from_bytes(content).to_bytes()) == json.loads(content)
    else:
        with pytest.raises(ValueError, match=r"."):
            Release.from_bytes(content)
    found: Any = check(content)  # the second reading, of milliseconds; the program where that finds nothing
    if (lie.about, lie.state) not in {(one.about, one.state) for one in found}:
        found = seen(content, tmp_path, CASES[lie.case].get("public")).verdicts
    assert (lie.about, lie.state) in {(one.about, one.state) for one in found}, [*map(str, found)]


def test_digits_that_no_answer_says_are_told_to_be_declared(tmp_path):
    """Digits of a learned number may be declared: the verdict names the column. Control: the honest file."""
    for is_changed in (True, False):
        document = json.loads(honest("numbers"))
        if is_changed:
            answer = next(a for a in asked(document, "precision") if a["columns"] == ["pay"])
            array(answer, "values", lambda v: np.roll(v, 1))
        found = {one.about: one for one in seen(restated(document), tmp_path, None).verdicts}[LEARN]
        assert found.state == "ok"
        assert ("must be declared: 'pay' (digits)" in found.why) == is_changed


def test_failures_of_millions_of_uses_are_counted_at_once():
    """Each use was an item of a list before: a file of a few lines took all memory."""
    document = json.loads(honest("learned, strong"))
    charged = next(e for e in document["ledger"]["entries"] if e["name"] == "domain")["losses"]
    charged += [
        {"type": "ApproxDP", "epsilon": 0.0, "delta": 1e-30 * i, "count": 9_000} for i in range(1, 200)
    ]
    found = {one.about: one.state for one in check(write(document))}
    assert found["answers paid by domain"] == "ok"


def test_every_kind_of_rule_is_named_in_the_ledger(tmp_path):
    """Word by word, as the file has it. Control: the lies about rules above."""
    release = ruled.fitted().release()
    assert {rule.kind for rule in release.rules.rule_set.rules} == {*RULE_KINDS}
    found = {one.about: one.why for one in seen(release.to_bytes(), tmp_path).verdicts}
    assert found["rules in the ledger"] == f"it names the {len(ruled.RULES)} rules of the file"


def test_values_in_types_of_storage_are_refused():
    """The leak of an advisory: a category's values, of a column that no entry pays for. Control: those of its domain."""
    of_columns = {"ticket": ["John Smith"], "ward": ["A", "B", "C", "Z"]}
    for name, categories in {**of_columns, "stage": ["i", "ii", "iii"]}.items():
        document = json.loads(honest("adaptive, row"))
        stored(document, name, categories)
        states = {one.about: one.state for one in check(write(document))}
        assert states["domain"] == ("refused" if name in of_columns else "ok")


def test_ledgers_that_take_minutes_to_add_up_are_refused_before():
    """Each kept a reader busy, or took all memory, though the program refuses them at once."""
    laplace = {"type": "DiscreteLaplaceLoss", "epsilon": 0.1, "count": 1, "sensitivity": 3}
    many = [{**laplace, "epsilon": 0.001 * (1 + i / 3000)} for i in range(3000)]
    gaussian = {"type": "GaussianLoss", "sensitivity_over_sigma": 1e-4, "count": 1}
    groups = {"type": "ReleaseLoss", "epsilon0": 1.0, "delta": 1e-10, "l1": 30_000_000}
    for losses in (many, many[:41], [{**laplace, "sensitivity": 2 * 10**8}], [groups], [gaussian] * 30_000):
        document = json.loads(honest("adaptive, row"))
        more_entries(document, losses=losses)
        (verdict,) = check(json.dumps(document).encode())
        assert (verdict.about, verdict.state) == ("format", "refused")
        assert "the most" in verdict.why
    document = json.loads(honest("adaptive, row"))
    more_entries(document, losses=many[:40])
    states = {one.about: one.state for one in check(json.dumps(document).encode())}
    assert states["total"] == "refused"  # added up: the file states less


@pytest.mark.parametrize("check", CHECKS)
def test_every_check_is_needed(check, tmp_path, monkeypatch):
    """A lie that a check refuses is not refused by its name once the check is gone: its tests would see it."""
    name = next(name for name, lie in LIES.items() if lie.about == check and lie.case not in SLOW)
    monkeypatch.setitem(CHECKS, check, lambda _: "gone")
    with pytest.raises(AssertionError):
        test_lies_are_refused_by_name(name, tmp_path)


def test_a_digest_that_was_told_is_compared(tmp_path):
    content = honest("adaptive, row").encode()
    release = Release.from_bytes(content)
    for told_digest, state in ((release.digest, "ok"), (release.digest[::-1], "refused")):
        assert check(content, told_digest)[1].state == state
    assert {_digest(content, release.digest, other).state for other in others(release.digest)} == {"refused"}
    readable = check(release.to_bytes(readable=True), release.digest)
    assert readable[1].state == "ok"
    assert "form for people" in readable[1].why


def test_what_is_no_file_is_one_verdict(tmp_path):
    for content in (
        b"",
        b"{",
        b"[]",
        b'{"a": 1, "a": 2}',
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b"\xff",
        b"[" * 10**5,
    ):
        (verdict,) = check(content)
        assert (verdict.about, verdict.state) == ("format", "refused")
    assert str(seen(b"{", tmp_path)).endswith("\n".join(CANNOT_SHOW))


def test_a_total_above_the_entries_is_not_called_ok():
    """It may be an older version's, or an entry is missing: nobody can tell."""
    document = json.loads(honest("adaptive, row"))
    document["ledger"]["epsilon"] *= 1.01
    (total,) = (v for v in check(json.dumps(document).encode()) if v.about == "total")
    assert total.state == "not checkable"
    assert "an entry is missing" in total.why


def test_a_model_of_another_version_is_not_called_ok(tmp_path):
    """Whoever names another version to hide another model gets no ok for it."""
    document = json.loads(honest("independent, row"))
    document["model"] = json.loads(honest("epsilon, independent"))["model"]
    document["versions"]["sdv-plausible"] = "9.9"
    found = seen(json.dumps(document).encode(), tmp_path)
    assert {v.about: v.state for v in found.verdicts}["model from its answers"] == "not checkable"


def test_what_an_earlier_fit_paid_lends_nothing_and_refuses_nothing(tmp_path):
    """One column was learned before, another one is learned now: two entries of one name (seen red)."""
    rng, path = np.random.default_rng(0), tmp_path / "domain.json"
    rows = pd.DataFrame({"age": rng.integers(18, 90, 2000), "town": rng.choice(["Bern", "Chur"], 2000)})
    types = {"age": {"sdtype": "numerical"}, "town": {"sdtype": "categorical"}}
    learned_file(rows[["age"]], DomainFile(columns={"age": types["age"]}), 0.5, 1e-9).save(path)
    synth = PlausibleDeniabilitySynthesizer(
        metadata_from_columns(types), domain=path, undeclared="private", model="independent", epsilon=2.0
    )
    synth.fit(rows)
    file = tmp_path / "a.release"
    file.write_bytes(synth.release().to_bytes())
    assert not verify(file, allow_unchecked=True).refused


ODD = "\t\n\x00\x9b\u2028\u202e\\u0041;, "


def odd(name: str) -> str:
    """A name with signs that no line of a ledger shows as they are."""
    return f"{name}{ODD}{name}"


def odd_table() -> pd.DataFrame:
    columns = {
        "who": [f"{ODD}{i}" for i in range(400)], "side": [odd("N"), odd("S")] * 200, "low": [1, 2] * 200,
        "high": [3, 4] * 200, "day": ["2020-01-01", "2020-02-03"] * 200, "kind": [odd("l"), odd("m")] * 200,
    }  # fmt: skip
    return pd.DataFrame({odd(name): cells for name, cells in columns.items()})


DAYS = {"datetime_format": "%Y-%m-%d", "range_min": "2020-01-01", "range_max": "2020-12-31"}
ODD_COLUMNS = {
    odd("who"): {"sdtype": "id"}, odd("side"): {"sdtype": "categorical", "range_values": [odd("N"), odd("S")]},
    odd("low"): {"sdtype": "numerical", "range_min": 0, "range_max": 5},
    odd("high"): {"sdtype": "numerical", "range_min": 0, "range_max": 9},
    odd("day"): {"sdtype": "datetime", **DAYS}, odd("kind"): {"sdtype": "categorical"},
}  # fmt: skip
RULED = [
    Inequality(odd("low"), odd("high"), most=5),
    Implies(when={odd("side"): odd("N")}, then={odd("low"): 1}),
]


@pytest.mark.parametrize(
    "options",
    [
        {"person": Person(odd("who"), rows=2), "rules": RULED},
        {"types": "voted", "domain": {odd("side"): ODD_COLUMNS[odd("side")]}, "epsilon": 20.0},
        {"public": PublicTable(odd_table(), source=odd("office"))},
    ],
    ids=["person and rules", "voted", "published"],
)
def test_names_with_control_characters_are_the_same_names(options, tmp_path):
    """In a ledger they are written out. Control: another column is named there."""
    columns = {name: {k: v for k, v in words.items() if k == "sdtype"} for name, words in ODD_COLUMNS.items()}
    columns[odd("day")]["datetime_format"] = "%Y-%m-%d"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        synth = PlausibleDeniabilitySynthesizer(
            metadata_from_columns(columns), **{"domain": ODD_COLUMNS, "types": "declared", **options}
        )
        synth.fit(odd_table())
    content = synth.release().to_bytes()
    assert not seen(content, tmp_path).refused
    document = json.loads(content)
    named = next(e for e in document["ledger"]["entries"] if e["name"] == "domain" and not e["losses"])
    named["mechanism"] = named["mechanism"].replace("side", "sign")
    assert "domain" in {one.about for one in seen(write(document), tmp_path).refused}


@pytest.mark.parametrize("cited", ["kind", "who"])
def test_columns_that_are_cited_and_whose_values_are_learned_are_no_lie(cited, tmp_path):
    """Where the domain declares no value set. Control: the ledger names a column that is not there."""
    domain: Any = {"kind": {"sdtype": "categorical"}, "who": {"sdtype": "id"}}
    domain[cited]["source"] = "https://example.org"
    table = pd.DataFrame({"kind": ["x", "y"] * 300, "who": range(600)})
    document = json.loads(fit_source(table, domain=domain).to_bytes())
    assert not seen(write(document), tmp_path).refused
    named = next(e for e in document["ledger"]["entries"] if e["name"] == "domain" and not e["losses"])
    named["mechanism"] = "declared: age"
    assert "domain" in {one.about for one in seen(write(document), tmp_path).refused}
