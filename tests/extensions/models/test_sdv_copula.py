"""SDV's Gaussian copula behind the privacy test: what is taken from it, what the ledger says, what is refused."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sdv import multi_table, sequential, single_table
from sdv.multi_table import HMASynthesizer
from sdv.single_table import GaussianCopulaSynthesizer
from sentences import NO_CLAIM

from sdv_plausible import DeterministicTest, PlausibleDeniabilitySynthesizer
from sdv_plausible.extensions.models.sdv_copula import SDVCopula, of_fitted
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.model_checks import check_model
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.sdv.metadata import metadata_of
from sdv_plausible.sdv.sdv_parameters import learner_of
from sdv_plausible.sdv.sdv_versions import from_native, to_native
from sdv_plausible.table.columns.domain import Attribute, Domain
from tests.flat import values

DOMAIN = Domain((
    Attribute(name="age", kind="integer", lower=(0, 20, 30, 40, 60), upper=(19, 29, 39, 59, 100), nullable=True),
    Attribute(name="income", kind="float", lower=(0.0, 2.0, 4.0), upper=(2.0, 4.0, 20.0), decimals=3),
    Attribute(name="kind", kind="categorical", values=("x", "y", "z")),
))  # fmt: skip
SPECS = {"age": {"sdtype": "numerical"}, "income": {"sdtype": "numerical"}, "kind": {"sdtype": "categorical"}}


def table(n: int = 1_500) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = np.clip(rng.normal(40, 15, n), 0, 100).round()
    income = np.round(np.clip(age / 10 + rng.normal(0, 1, n), 0, 20), 3)
    kind = np.where(income > 4, "x", rng.choice(["y", "z"], n))
    return pd.DataFrame({"age": np.where(rng.random(n) < 0.1, np.nan, age), "income": income, "kind": kind})


def fit(model, rows: pd.DataFrame, **options):
    given = values(model=model, **options)
    synth = PlausibleDeniabilitySynthesizer(metadata_of(DOMAIN), domain=DOMAIN, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        synth.fit(to_native("table", rows))
    return synth


def sdv_fitted() -> GaussianCopulaSynthesizer:
    synth = GaussianCopulaSynthesizer(metadata_of(DOMAIN), default_distribution="norm")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        synth.fit(to_native("table", table()))
    return synth


@pytest.fixture(scope="module")
def fitted():
    return sdv_fitted()


@pytest.fixture(scope="module")
def synth():
    return fit(SDVCopula(GaussianCopulaSynthesizer, default_distribution="norm"), table())


def test_the_first_thing_the_ledger_says_is_infinity(synth):
    ledger = synth.privacy_ledger()
    assert math.isinf(ledger.total())
    first = str(ledger).splitlines()[0]
    assert first.startswith(NO_CLAIM)
    assert "epsilon is infinite" in first


def test_no_cell_is_copied_raw():
    """A lone value of many digits that SDV alone might repeat: rows come from bins."""
    rows = table()
    rows.loc[3, "income"] = 13.377
    made = from_native(fit(GaussianCopulaSynthesizer, rows).sample(300))
    assert set(made.columns) == set(rows.columns)
    assert (made["income"].between(0, 20)).all()
    assert made["income"].isin(rows["income"]).mean() < 0.5  # thousandths within bins meet by chance alone


def test_margins_and_correlations_are_sdvs(fitted):
    model = of_fitted(fitted, DOMAIN, KeyedRNG.from_seed(0))
    names = list(fitted._model.columns)
    place = [names.index(name) for name in DOMAIN.names]
    wanted = np.asarray(fitted._model.correlation)[np.ix_(place, place)]
    np.testing.assert_allclose(model.correlation, wanted, atol=0.02)
    drawn = from_native(fitted.sample(5_000))
    ours = model.sample(5_000, KeyedRNG.from_seed(1))
    for value, code in (("x", 0), ("y", 1), ("z", 2)):
        assert (ours[:, 2] == code).mean() == pytest.approx((drawn["kind"] == value).mean(), abs=0.05)
    assert (ours[:, 1] == 0).mean() == pytest.approx((drawn["income"] < 2).mean(), abs=0.05)
    assert (ours[:, 0] == 5).mean() == pytest.approx(drawn["age"].isna().mean(), abs=0.05)


def test_its_likelihood_belongs_to_its_sampling(fitted):
    check_model(of_fitted(fitted, DOMAIN, KeyedRNG.from_seed(0)), DOMAIN.cardinalities)


def test_a_fitted_instance_is_asked_and_not_changed(fitted):
    before = np.asarray(fitted._model.correlation).copy()
    synth = fit(fitted, table(), test="randomized", omega=2)
    rows = from_native(synth.sample(20))
    assert len(rows) == 20
    assert (np.asarray(fitted._model.correlation) == before).all()
    assert math.isinf(synth.privacy_ledger().total())
    assert "fitted before" in str(synth.privacy_ledger())


def test_an_instance_lends_its_arguments():
    instance = GaussianCopulaSynthesizer(metadata_of(DOMAIN), default_distribution="uniform")
    learner = learner_of(instance)
    assert isinstance(learner, SDVCopula)
    assert learner.fitted is None
    assert learner.arguments["default_distribution"] == "uniform"


def test_other_columns_are_refused(fitted):
    fewer = Domain(tuple(DOMAIN)[:2])
    with pytest.raises(ValueError, match="kind"):
        of_fitted(fitted, fewer, KeyedRNG.from_seed(0))


def test_models_without_likelihoods_and_of_several_tables_are_refused_with_the_alternative():
    for name in ("CTGANSynthesizer", "TVAESynthesizer", "CopulaGANSynthesizer"):
        with pytest.raises(ValueError, match=rf"model \({name}\).*probability.*gaussian_copula"):
            PlausibleDeniabilitySynthesizer(metadata_of(DOMAIN), model=getattr(single_table, name))
    with pytest.raises(ValueError, match=r"several tables.*sdv_models"):
        PlausibleDeniabilitySynthesizer(metadata_of(DOMAIN), model=HMASynthesizer)


def test_the_page_names_every_model_of_sdv_and_whether_it_is_refused():
    """One line each: refused, or what is promised; and what works in its place."""
    page = (Path(__file__).parents[3] / "docs/explanation/sdv_models.md").read_text(encoding="utf-8")
    told = {
        name: [cell.strip() for cell in line.strip("|").split("|")]
        for line in page.splitlines()
        for name in re.findall(r"^\| `(\w+Synthesizer)`", line)
    }
    models = {
        name: made
        for module in (multi_table, sequential, single_table)
        for name, made in vars(module).items()
        if name.endswith("Synthesizer") and made.__module__.startswith("sdv.")
    }
    assert {*told} == {*models}
    for name, made in models.items():
        _, behind, promise, why, instead = told[name]
        try:
            SDVCopula(made)
        except ValueError:
            assert (behind, promise) == ("refused", "")
        else:
            assert behind == "yes"
            assert "epsilon is infinite" in promise
        assert why
        assert instead


def test_a_child_table_of_sdvs_hierarchy_is_refused(synth):
    """What HMA would read of each parent's rows."""
    with pytest.raises(NotImplementedError, match=r"sdv_models"):
        synth._get_parameters()


def test_arguments_without_a_class_or_that_do_not_fit_are_refused(fitted):
    for model in ("bayesian_network", AdaptiveNetwork(), None):
        assert learner_of(model) is model
        with pytest.raises(ValueError, match="tells no probability of a row"):
            SDVCopula(model, default_distribution="norm")
    with pytest.raises(
        ValueError, match="is an instance, which has its arguments: leave out default_distrib"
    ):
        SDVCopula(fitted, default_distribution="norm")
    for given in ({"colour": 1}, {"default_distribution": "nope"}):
        with pytest.raises(ValueError, match="SDVCopula: the arguments"):
            fit(SDVCopula(GaussianCopulaSynthesizer, **given), table(50))


def test_a_fitted_instance_keeps_its_dates_whole():
    """Dates with a time of day become two columns for models that are fitted here, and for no other."""
    domain = {
        "when": {
            "sdtype": "datetime", "datetime_format": "%Y-%m-%d %H:%M:%S", "range_min": "2020-01-01 00:00:00",
            "range_max": "2020-12-31 23:59:59", "range_is_nullable": False,
        },
        "a": {"sdtype": "numerical", "range_min": 0, "range_max": 9, "range_is_nullable": False},
    }  # fmt: skip
    minutes = pd.to_timedelta(np.arange(300) * 1_733, unit="min")
    rows = pd.DataFrame({"when": pd.Timestamp("2020-01-01 00:00:07") + minutes, "a": np.arange(300) % 10})
    metadata = metadata_of(domain)
    theirs = GaussianCopulaSynthesizer(metadata)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SDV's, about the date format
        theirs.fit(to_native("table", rows))
    for model in (theirs, GaussianCopulaSynthesizer):
        test = DeterministicTest(k=5)
        made = PlausibleDeniabilitySynthesizer(metadata, model=model, domain=domain, test=test)
        made.fit(to_native("table", rows))
        assert ("when" in made.get_domain().names) == (model is theirs)
        drawn = pd.to_datetime(from_native(made.sample(200))["when"])
        # by chance about one of 500; copies would be all of them
        assert drawn.isin(set(rows["when"])).mean() < 0.1
        assert drawn.dt.year.eq(2020).all()
