"""Noisy answers written down and given again, and everything that an object holds, to compare what leaves two fits."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import comparing
import numpy as np
import pandas as pd
import pytest
from sdv.single_table import base
from spies import check_form

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.queryable import Queryable


@contextmanager
def recorded(answers: list[Any], *, again: bool) -> Iterator[None]:
    """Write down every noisy answer, or give those written down instead; exact answers are computed either way.

    Secret coins are the same every time: what is drawn with them may depend on nothing but the answers.
    """
    honest, left = Queryable._give, iter(copy.deepcopy(answers))

    def give(self: Queryable, asked: Any, answer: Any, *law: Any) -> Any:
        if again:
            given = next(left, None)
            check_form(given, answer)
            return honest(self, asked, given, *law)  # and so it is in the transcript
        answers.append(copy.deepcopy(answer))
        return honest(self, asked, answer, *law)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Queryable, "_give", give)
        patch.setattr(KeyedRNG, "from_os_entropy", classmethod(lambda made: made.from_seed(11)))
        patch.setattr(base, "generate_synthesizer_id", lambda synthesizer: "same")
        yield
    assert not again or next(left, None) is None, "less is asked of other rows"


def leaves(thing: Any, path: str = "", seen: dict[int, Any] | None = None) -> Iterator[tuple[str, str]]:
    """Path and content of everything that an object holds."""
    seen = {} if seen is None else seen
    if isinstance(thing, (str, bytes, int, float, bool, type(None), complex)):
        yield path, repr(thing)
        return
    if isinstance(thing, weakref.ref):  # what it points to is the caller's
        return
    if isinstance(thing, np.ndarray) and thing.dtype != object:
        yield path, f"{thing.dtype} {thing.shape} {thing.tobytes().hex()}"
        return
    if isinstance(thing, (pd.DataFrame, pd.Series)):
        yield path, f"{type(thing).__name__} {thing.to_dict()!r}"
        return
    if isinstance(thing, (pd.Index, np.dtype, pd.Timestamp, type)) or callable(thing):
        text = getattr(thing, "__qualname__", thing)
        yield path, f"{type(thing).__name__} {text!r}"
        return
    if id(thing) in seen:
        return
    seen[id(thing)] = thing  # kept alive: a later object must not be given its identity
    if isinstance(thing, dict):
        items: Any = ((repr(k), v) for k, v in thing.items())
    elif isinstance(thing, (list, tuple, set, frozenset, np.ndarray)):
        items = enumerate(sorted(thing, key=repr) if isinstance(thing, (set, frozenset)) else thing)
    else:
        names = {*getattr(type(thing), "__slots__", ())} - {"_lock", "_home", "_cipher"}
        slots = {name: getattr(thing, name, None) for name in sorted(names)}
        items = {**slots, **getattr(thing, "__dict__", {})}.items()
        yield path, type(thing).__name__
    for key, value in items:
        if key not in ("_fitted_date", "_creation_date", "_home", "_lock", "_cipher"):
            yield from leaves(value, f"{path}.{key}", seen)


def check_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """Compare what two fits show; name what differs."""
    for what, first in one.items():
        second = other[what]
        if what == "state":
            differing = sorted(k for k in {*first, *second} if first.get(k) != second.get(k))
            assert not differing, f"the object's state depends on the rows: {differing[:5]}"
        else:
            comparing.check_same(first, second, f"{what} depend(s) on the rows other than by noisy answers")
