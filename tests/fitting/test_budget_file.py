"""The budget's file: what it holds comes back, and whatever was done to it is refused in one line."""

from __future__ import annotations

import json

import pytest

from sdv_plausible.fitting.release_budget import BudgetCharge, BudgetState, _digest
from sdv_plausible.privacy.accounting.privacy_filters import RhoFilter, SumFilter
from sdv_plausible.privacy.neighbours import Neighbours
from tests.digests import others

COST = {"epsilon": 0.25, "delta": 1e-9}


def state(fits=2):
    made = BudgetState(filter=SumFilter(1.0, 1e-8))
    for i in range(fits):
        charge = BudgetCharge(when="2030-01-01", what=f"fit {i}", cost=COST)
        made = made.with_charge(charge, Neighbours(rows=3, person="p"))
    return made


def test_what_is_written_comes_back(tmp_path):
    path = tmp_path / "b"
    for made in (state(0), state(2), BudgetState(filter=RhoFilter(0.5, 1e-7))):
        made.write(path)
        assert BudgetState.read(path) == made
        assert [file.name for file in tmp_path.iterdir()] == ["b"]


def changed(content, *, digest=False, **entries):
    content = {**content, **entries}
    if digest:
        content["sha256"] = _digest({name: value for name, value in content.items() if name != "sha256"})
    return json.dumps(content)


OVER = {"when": "", "what": "", "cost": {"epsilon": 0.9, "delta": 1e-9}}
DAMAGES = [
    lambda c: "", lambda c: "{", lambda c: "[]", lambda c: "3", lambda c: "[" * 100_000, lambda c: json.dumps(c)[:-30],
    *(lambda c, e=entries: changed(c, **e) for entries in ({"epsilon": 2.0}, {"epsilon": float("nan")}, {"fits": []}, {"format": "other"})),
]  # fmt: skip
COSTS = ({"epsilon": 0.1}, {"epsilon": -0.1, "delta": 0.0}, {"epsilon": "0.1", "delta": 0.0})
DIGESTED = [
    {"format": "other"}, {"filter": "none"}, {"epsilon": -1.0}, {"neighbours": None}, {"neighbours": {"rows": 0}},
    {"neighbours": {"r": 1}}, {"fits": 3}, *({"fits": [{**OVER, "cost": cost}]} for cost in COSTS),
]  # fmt: skip


def test_damage_is_one_clear_line(tmp_path):
    path = tmp_path / "b"
    state().write(path)
    content = json.loads(path.read_text())
    damaged = [damage(content) for damage in DAMAGES]
    damaged += [changed(content, digest=True, **entries) for entries in DIGESTED]
    damaged.append(changed(content, digest=True, fits=[*content["fits"], OVER]))
    for text in damaged:
        path.write_text(text)
        with pytest.raises(ValueError, match="is not a budget file, or was changed or damaged") as refused:
            BudgetState.read(path)
        assert "\n" not in str(refused.value)
        assert str(path) in str(refused.value)


def test_every_flipped_byte_is_noticed(tmp_path):
    path = tmp_path / "b"
    state().write(path)
    data = path.read_bytes()
    for place in range(len(data)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        try:
            read = BudgetState.read(path)
        except ValueError:
            continue
        assert read == state()  # white space


def test_every_digit_of_its_digest_counts(tmp_path):
    path = tmp_path / "b"
    state().write(path)
    content = json.loads(path.read_text())
    for other in others(content["sha256"]):
        path.write_text(changed(content, sha256=other))
        with pytest.raises(ValueError, match="its digest does not match"):
            BudgetState.read(path)


def test_a_second_name_of_the_file_is_no_second_budget(tmp_path):
    """By a symbolic link it is the same budget; by a hard link it would be another one after the next fit."""
    path, second = tmp_path / "b", tmp_path / "second"
    state().write(path)
    (tmp_path / "link").symlink_to(path)
    assert BudgetState.read(tmp_path / "link") == state()
    second.hardlink_to(path)
    for name in (path, second):
        with pytest.raises(
            ValueError, match=r"^path \('.*'\): this budget file has 2 hard links.* Remove the extra links"
        ):
            BudgetState.read(name)
    second.unlink()
    assert BudgetState.read(path) == state()
