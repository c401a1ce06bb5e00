"""Both doors read what they are told in one order and in one place: they refuse in the same words."""

from __future__ import annotations

import inspect
import re

import pandas as pd
import pytest

from sdv_plausible import PlausibleDeniabilitySynthesizer, fit_source, metadata_of
from sdv_plausible.fitting.arguments import FitArguments
from sdv_plausible.fitting.diagnostics import FitWarning
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.rules import Multiple, save_rules
from sdv_plausible.table.declared.domain_file import DomainFile

DOMAIN = {
    "sex": {"sdtype": "categorical", "range_values": ["f", "m"]},
    "age": {"sdtype": "numerical", "range_min": 0, "range_max": 9, "decimal_places": 0},
}
TABLE = pd.DataFrame({"sex": ["f", "m"] * 30, "age": [1, 2, 3] * 20})
WRONG = {
    "epsilon": -1, "delta": 2, "model": "magic", "test": "magic", "types": "magic", "locales": ["martian"],
    "neighbours": "all", "person": "nobody", "budget": 3, "rules": 3, "max_bins": 1, "random_state": "magic",
    "anyway": "magic", "domain": {"sxe": DOMAIN["sex"]},
}  # fmt: skip


def at_the_synthesizer(**options):
    PlausibleDeniabilitySynthesizer(metadata_of(DOMAIN), **{"domain": DOMAIN, **options})


def at_fit_source(**options):
    fit_source(TABLE, **{"domain": DOMAIN, "metadata": metadata_of(DOMAIN), **options})


def test_both_doors_refuse_an_argument_in_the_same_words():
    """But what names columns, which each door looks for where it has them. No option of both is without a case."""
    for name, wrong in WRONG.items():
        said = []
        for door in (at_the_synthesizer, at_fit_source):
            with pytest.raises((Refused, ValueError, TypeError)) as refused:
                door(**{name: wrong})
            said.append((type(refused.value), str(refused.value)))
        assert all(re.search("sxe|lacks" if name == "domain" else name, text) for _, text in said)
        if name in ("domain", "person"):
            assert all(issubclass(kind, ValueError) for kind, _ in said)
        else:
            assert said[0] == said[1]
    doors = (PlausibleDeniabilitySynthesizer, fit_source)
    options = [set(inspect.signature(door).parameters) for door in doors]
    assert set.intersection(*options) - {"metadata", "moved"} == {*WRONG}


def test_declarations_are_read_from_their_file_once(tmp_path, monkeypatch):
    path = tmp_path / "domain.json"
    DomainFile(columns=DOMAIN).save(path)
    seen, honest = [], FitArguments.of.__func__

    def of(cls, *args, **options):
        seen.append(honest(cls, *args, **options))
        path.unlink()  # whoever reads it again fails
        return seen[-1]

    monkeypatch.setattr(FitArguments, "of", classmethod(of))
    with pytest.warns(FitWarning, match="comparison"):
        fit_source(TABLE.assign(age=50), domain=path)
    assert len(seen) == 1


def test_rules_are_read_once(tmp_path):
    """An iterator, and a file that is gone or other once they were read, at both doors, also where types are open."""
    path = tmp_path / "rules.json"
    for types in ("declared", "voted"):
        domain = {"age": DOMAIN["age"]} if types == "voted" else DOMAIN
        release = fit_source(TABLE, domain=domain, types=types, rules=iter([Multiple("age", 3)]))
        assert len(release.rules.rule_set.rules) == 1
        asked = FitArguments.of(
            None, domain, epsilon=1.0, delta=1e-9, model="bayesian_network", test="release", types=types,
            person=None, neighbours="add_remove", budget=None, locales=["en_US"], random_state=None,
        )  # fmt: skip
        save_rules([Multiple("age", 3)], path)
        fit = asked.read({name: dict(DOMAIN[name]) for name in TABLE}, rules=path, max_bins=100)
        path.unlink()
        assert fit.plan().ledger.claims_privacy
        assert len(fit.column_specs.read()[1].rules) == 1


def test_a_domain_of_one_column_does_not_excuse_the_others_of_a_vote():
    """A vote's types were paid for: whoever takes them as public names all, or the domain that was learned."""
    domain = dict.fromkeys(("sex", "other"), DOMAIN["sex"])
    table = pd.DataFrame({name: ["f", "m"] * 200 for name in domain})
    voted = PlausibleDeniabilitySynthesizer(metadata_of(domain), types="voted", epsilon=9.0, random_state=1)
    voted.fit(table)
    found = voted.get_metadata()
    for known in (None, {"sex": DOMAIN["sex"]}):
        with pytest.raises(ValueError, match=r"types \(") as refused:
            PlausibleDeniabilitySynthesizer(found, domain=known)
        assert "other" in str(refused.value)
    PlausibleDeniabilitySynthesizer(found, domain=domain)
