"""What SDV sees of the rows: transformers that learn from them, and stand-ins for what it invents.

Generators are hidden from the rows and reseeded, each of which would do by itself: so no release shows that one is missing.
"""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.sdv.sdv_state import hide_generated, own_transformers, reseed_generators


def transformer(is_generator: bool, **more):
    return SimpleNamespace(is_generator=lambda: is_generator, **more)


LEARNS, INVENTS = transformer(False), transformer(True)
REPEATS = {rule: transformer(True, cardinality_rule=rule) for rule in ("match", "scale", "unique", None)}


def test_transformers_that_learn_are_named():
    """Those that are no generators, and generators that repeat the number of values."""
    repeats = {str(rule): found for rule, found in REPEATS.items()}
    named = {"learns": LEARNS, "invents": INVENTS, "none": None, **repeats, 3: LEARNS}
    assert own_transformers(named) == ["learns", "3", "match", "scale"]
    # one that hands values on, as SDV's pseudonyms, of which every real value has one; one that keeps what it makes
    made = [transformer(True, output_properties={None: {"sdtype": made}}) for made in ("categorical", None)]
    assert own_transformers(dict(zip(("hands on", "keeps"), made, strict=True))) == ["hands on"]


def test_columns_that_sdv_invents_hold_none_of_their_values():
    numbers = [917, 918]
    table = pd.DataFrame({"name": ["Ada", "Emmy"], "number": numbers, "kept": numbers, "told": ["p", "q"]})
    number = {"sdtype": "id", "regex_format": "[0-9]{3}"}
    specs = {"name": {"sdtype": "id"}, "number": number, "kept": {"sdtype": "numerical"}}
    transformers = {"told": INVENTS, "kept": LEARNS}
    found = hide_generated(table, specs, {"number"}, transformers)
    hidden = ["name", "number", "told"]
    assert not found[hidden].isin(table[hidden].to_numpy().ravel().tolist()).to_numpy().any()
    assert found["kept"].equals(table["kept"])
    assert hide_generated(table, specs, set(), {"told": REPEATS["scale"]})["told"].equals(table["told"])


def test_seeds_of_generators_are_drawn_from_coins_alone():
    def seeds(known: int, rng: int) -> list[object]:
        """Seeds and lengths of two generators after they saw other rows, and whether they began anew."""
        begun = list[str]()
        made = {
            name: transformer(
                True, random_seed=known, _faker_random_seed=known, data_length=known,
                reset_randomization=lambda name=name: begun.append(name),
            )
            for name in ("a", "b")
        }  # fmt: skip
        of_sdv = SimpleNamespace(
            _hyper_transformer=SimpleNamespace(field_transformers={**made, "none": None})
        )
        reseed_generators(of_sdv, KeyedRNG.from_seed(rng))
        assert begun == ["a", "b"]
        return [(one.random_seed, one._faker_random_seed, one.data_length) for one in made.values()]

    assert seeds(1, rng=5) == seeds(2, rng=5)
    assert seeds(1, rng=5) != seeds(1, rng=6)
    first, second = seeds(1, rng=5)
    assert first != second
