"""Groups of a category's values, as they are declared: a public hierarchy, such as chapters of diagnoses."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any


def groups_of(
    name: str, groups: Mapping[str, Sequence[Hashable]] | int | None, values: Sequence[Hashable]
) -> tuple[int, ...] | None:
    """Group of every value; values that no group names share one."""
    # ``groups`` maps names to values, or is the number of first letters of a value's text that name its
    # group.
    if groups is None:
        return None
    known, named = set(values), dict[Hashable, Any]()
    if isinstance(groups, Mapping):
        for group, members in groups.items():
            for value in members:
                _check_member(name, group, value, named, known)
                named[value] = group
    else:
        named = {value: str(value)[:groups] for value in values}
    number: dict[Any, int] = {}
    return tuple(number.setdefault((value in named, named.get(value)), len(number)) for value in values)


def _check_member(
    name: str, group: str, value: Hashable, named: Mapping[Hashable, Any], known: Collection[Hashable]
) -> None:
    if value in named:
        raise ValueError(
            f"column {name!r}: groups name {value!r} in {named[value]!r} and in {group!r}: a value is in one "
            "group"
        )
    if value not in known:
        raise ValueError(
            f"column {name!r}: groups name {value!r} in {group!r}, which is not in range_values: add it "
            "there, or leave it out"
        )
