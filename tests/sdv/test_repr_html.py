"""What a notebook shows of plan, synthesizer, domain and report: the words of the text, and no cell of a row."""

from __future__ import annotations

import re
from html import unescape

import pandas as pd
import pytest

from sdv_plausible import PlausibleDeniabilitySynthesizer, metadata_of
from sdv_plausible.evaluation import PlausibleDeniabilityReport

DOMAIN = {
    "<i>town</i>": {"sdtype": "categorical", "range_values": ["a", "b"]},
    "age": {"sdtype": "numerical", "range_min": 0, "range_max": 110, "decimal_places": 0},
    "name": {"sdtype": "categorical"},
}


def words(html):
    return " ".join(unescape(re.sub("<[^>]+>", " ", html)).split())


def one_line(text):
    return " ".join(text.split())


@pytest.fixture(scope="module")
def fitted():
    names = ["often"] * 500 + [f"CANARY{i}" for i in range(100)]
    table = pd.DataFrame({"<i>town</i>": ["a", "b"] * 300, "age": 41, "name": names})
    synth = PlausibleDeniabilitySynthesizer(metadata_of(DOMAIN), domain=DOMAIN, epsilon=2.0)
    synth.fit(table)
    return table, synth


def shown(table, synth):
    metadata = metadata_of(DOMAIN)
    report = PlausibleDeniabilityReport(
        ledger=synth.privacy_ledger(), num_runs=1, classifiers=("tree",), distinguishers=("tree",)
    )
    report.generate(table, synth.sample(200), metadata, verbose=False)
    return {
        "plan": synth.plan(table_rows=600), "synthesizer": synth, "domain": synth.get_domain(),
        "ledger": synth.privacy_ledger(), "report": report, "release": synth.release(),
    }  # fmt: skip


def test_no_cell_of_a_rare_row_is_shown_under_a_claim(fitted):
    """The names of single people stay out of every form; planted, they would be found."""
    table, synth = fitted
    for what, one in shown(table, synth).items():
        for form in (repr(one), one._repr_html_()):
            assert "CANARY" not in form, what
            assert "<i>" not in one._repr_html_(), what
    inferred = PlausibleDeniabilitySynthesizer(
        metadata_of(DOMAIN), domain={k: v for k, v in DOMAIN.items() if k != "name"}, undeclared="infer"
    )
    with pytest.warns(UserWarning, match="values were taken from the rows"):
        inferred.fit(table[: len(table) - 60].assign(name=["often"] * 500 + ["CANARY"] * 40))
    assert "CANARY" in repr(inferred.get_domain())  # no claim: the check can see them


def test_html_has_the_words_of_the_text(fitted):
    table, synth = fitted
    for what, one in shown(table, synth).items():
        html = words(one._repr_html_())
        for line in repr(one).splitlines():
            if what in ("domain", "report", "synthesizer", "release") and line.strip():
                for cell in re.split(r"\s{2,}", line.strip()):
                    assert one_line(cell) in html, (what, cell)
    plan = synth.plan(table_rows=600)
    assert "Plan (no rows have been read)" in words(plan._repr_html_())
    for warning in (*plan.warnings, plan.ledger.words.lead, plan.ledger.words.total, str(plan.forecast)):
        assert one_line(warning) in words(plan._repr_html_())


def test_before_a_fit_the_settings_are_shown_without_the_seed():
    synth = PlausibleDeniabilitySynthesizer(metadata_of(DOMAIN), domain=DOMAIN, random_state=987654)
    for form in (repr(synth), words(synth._repr_html_())):
        assert "epsilon=1.0" in form
        assert "not fitted" in form
        assert "987654" not in form
    bare = PlausibleDeniabilityReport()
    assert "not generated" in repr(bare)
    assert "not generated" in bare._repr_html_()
