"""Numbers with codes in words beside them: from a file through SDV, whatever the metadata calls them, and back."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sdv.sampling import Condition

from sdv_plausible import PlausibleDeniabilitySynthesizer, Release, read_csv, read_parquet
from sdv_plausible.sdv.metadata import metadata_from_columns

ROWS = 6000
INCOME = {
    "sdtype": "numerical", "range_min": -10_000, "range_max": 2_000_000, "special_values": [0, "N"],
    "range_is_nullable": False,
}  # fmt: skip
DOMAIN = {"age": {"range_min": 0, "range_max": 99, "range_is_nullable": False}, "income": INCOME}


def people(as_text: bool = False) -> pd.DataFrame:
    """Children have no income; it is not applicable to them."""
    rng = np.random.default_rng(5)
    age = rng.integers(0, 90, ROWS)
    income = rng.lognormal(10, 1, ROWS).astype(int) * (rng.random(ROWS) > 0.2)
    amounts = [str(one) if as_text else int(one) for one in income]
    cells = ["N" if years < 15 else one for years, one in zip(age, amounts, strict=True)]
    return pd.DataFrame({"age": age, "income": pd.Series(cells, dtype=object)})


def synthesizer(sdtype: str) -> PlausibleDeniabilitySynthesizer:
    metadata = metadata_from_columns({"age": {"sdtype": "numerical"}, "income": {"sdtype": sdtype}})
    return PlausibleDeniabilitySynthesizer(metadata, epsilon=2.0, domain=DOMAIN)


def check_income(column: pd.Series) -> None:
    assert column.dtype == object
    texts = column[[isinstance(v, str) for v in column]]
    assert set(texts) == {"N"}
    assert abs(len(texts) / len(column) - 1 / 6) < 0.05
    numbers = column.drop(texts.index)
    assert set(map(type, numbers)) == {int}
    assert (numbers == 0).mean() > 0.1
    assert numbers.between(-10_000, 2_000_000).all()


@pytest.mark.parametrize(
    ("sdtype", "as_text"), [("numerical", False), ("numerical", True), ("categorical", True)]
)
def test_numbers_and_texts_through_sdv(sdtype, as_text, tmp_path):
    """The 20 % of zeros and 1/6 of N are far from the noise of epsilon 2: no false alarm in 1e9."""
    table, synth = people(as_text), synthesizer(sdtype)
    synth.validate(table)
    synth.auto_assign_transformers(table)
    synth.fit(table)
    assert synth.privacy_ledger().total() <= 2.0
    assert synth.check(table, show=(shown := []).append)
    assert [line[:7] for line in shown] == ["This co"]  # and no value
    check_income(synth.sample(4000)["income"])
    conditioned = synth.sample_from_conditions([Condition({"income": "N"}, 20)])
    assert set(conditioned["income"]) == {"N"}
    known = pd.DataFrame({"income": ["N", 1200]}, dtype=object)
    assert synth.sample_remaining_columns(known)["income"].tolist() == ["N", 1200]
    synth.release().save(tmp_path / "release.json")
    release = Release.load(tmp_path / "release.json")
    assert release.domain["income"].values == ("N",)
    check_income(release.sample(4000)["income"])
    assert set(release.sample(9, given={"income": "N"})["income"]) == {"N"}
    check_income(PlausibleDeniabilitySynthesizer.from_release(release).sample(4000)["income"])


def test_what_is_neither_a_number_nor_a_declared_text_is_refused_by_sdv_where_it_says_numerical():
    table = people()
    table.loc[0, "income"] = "M"
    with pytest.raises(Exception, match="'M'"):
        synthesizer("numerical").validate(table)
    shown: list[str] = []
    check = synthesizer("numerical").check(table, show=shown.append)
    assert [(f.column, f.cells) for f in check.findings] == [("income", 1)]
    assert "not numbers" in check.findings[0].problem


def test_only_a_mixed_declaration_may_differ_from_categorical_metadata():
    metadata = metadata_from_columns({"income": {"sdtype": "categorical"}})
    for words in ({"special_values": [0]}, {"sdtype": None}):
        with pytest.raises(ValueError, match="column 'income'"):
            PlausibleDeniabilitySynthesizer(metadata, domain={"income": {**INCOME, **words}})
    learned = synthesizer("categorical")
    learned.fit(people())
    again = PlausibleDeniabilitySynthesizer(learned.metadata, domain=learned.get_domain())
    again.fit(people())
    check_income(again.sample(4000)["income"])


def test_a_file_is_read_to_the_letter(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,income\n4,N\n30,1200\n31, 7.5 \n32, N\n33,\n34,x\n", encoding="utf-8")
    found = read_csv(path, DOMAIN)["income"]
    assert found.dtype == object
    assert found.tolist()[:3] == ["N", 1200.0, 7.5]
    assert found.isna().tolist() == [False, False, False, True, True, True]
    pd.DataFrame({"age": [4, 30], "income": ["N", "1200"]}).to_parquet(tmp_path / "people.parquet")
    assert read_parquet(tmp_path / "people.parquet", DOMAIN)["income"].tolist() == ["N", 1200.0]
    pd.DataFrame({"age": [4, 30], "income": [3, 1200]}).to_parquet(tmp_path / "people.parquet")
    assert read_parquet(tmp_path / "people.parquet", DOMAIN)["income"].tolist() == [3.0, 1200.0]
