"""Whether SDV must see the rows: transformers that learn from them."""

from __future__ import annotations

from types import SimpleNamespace

from sdv_plausible.sdv.stand_ins import own_transformers


def transformer(is_generator: bool, **more):
    return SimpleNamespace(is_generator=lambda: is_generator, **more)


LEARNS, INVENTS = transformer(False), transformer(True)
REPEATS = {rule: transformer(True, cardinality_rule=rule) for rule in ("match", "scale", "unique", None)}


def test_transformers_that_learn_are_named():
    """Those that are no generators, and generators that repeat the number of values."""
    named = {
        "learns": LEARNS,
        "invents": INVENTS,
        "none": None,
        **{str(rule): t for rule, t in REPEATS.items()},
        3: LEARNS,
    }
    assert own_transformers(named) == ["learns", "3", "match", "scale"]


def test_a_generator_that_hands_values_on_is_named():
    """As SDV's pseudonyms, of which every real value has one. Control: what a generator makes and keeps."""
    hands_on, keeps = (
        transformer(True, output_properties={None: {"sdtype": made}}) for made in ("categorical", None)
    )
    assert own_transformers({"hands on": hands_on, "keeps": keeps}) == ["hands on"]
