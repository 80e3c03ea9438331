"""The ids of a plan: each is new exactly once, in whatever order they come, and those in order take little memory."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.core.windows import id_set
from inorder.core.windows.id_set import HashedIds, IdSet


@pytest.mark.slow
@given(st.lists(st.text(max_size=3), max_size=200))
def test_an_id_is_new_exactly_once(ids: list[str]) -> None:
    seen: set[str] = set()
    identities = IdSet()
    for item_id in ids:
        assert identities.add(item_id) == (item_id not in seen)
        seen.add(item_id)
    assert len(identities) == len(seen)


@pytest.mark.slow
@given(st.sets(st.text()), st.text())
def test_an_id_is_in_the_set_if_it_was_added_and_only_then(known: set[str], other: str) -> None:
    identities = IdSet()
    for item_id in known:
        identities.add(item_id)
    assert all(item_id in identities for item_id in known)
    assert (other in identities) == (other in known)


def test_ids_are_still_known_after_the_table_has_grown() -> None:
    identities = IdSet()
    assert all(identities.add(f"item {number}") for number in range(5000))
    assert not any(identities.add(f"item {number}") for number in range(5000))
    assert len(identities) == 5000


def test_an_id_without_order_costs_at_most_24_bytes_once_there_are_many() -> None:
    identities = HashedIds()
    for number in range(20_000):
        identities.add(str(number))
        assert number < 64 or identities.size_bytes <= 24 * len(identities)


ORDERS: dict[str, Callable[[set[str]], list[str]]] = {
    "ascending": lambda names: sorted(names),
    "descending": lambda names: sorted(names, reverse=True),
    "by folder": lambda names: sorted(names, key=lambda each: each.rpartition("/")),
    "in turn": lambda names: sorted(names, key=lambda each: each.partition("/")[::-1]),
    "none": lambda names: random.Random(0).sample(sorted(names), len(names)),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", ["a/{}", "{0}/a", "{0}.md", "a/\0{}", "\udc80/{}"])
def test_ids_in_any_order_are_new_exactly_once(order: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(id_set, "BLOCK_IDS", 4)
    names = {name.format(number) for number in range(80)} | {f"b/c/{number}" for number in range(30)}
    identities = IdSet()
    seen: set[str] = set()
    for item_id in ORDERS[order](names):
        assert item_id not in identities
        assert identities.add(item_id)
        seen.add(item_id)
        assert not identities.add(item_id)
        assert len(identities) == len(seen)
    for item_id in sorted(names):
        assert item_id in identities
        assert not identities.add(item_id)
    assert "a/none" not in identities
    assert "b/c/100" not in identities
    assert "none/a" not in identities


@pytest.mark.slow
def test_ids_in_order_cost_a_few_bytes() -> None:
    identities = IdSet()
    for number in range(20_000):
        for family in ("dense", "lexical"):
            identities.add(f"{family}/docs/{number // 500:04}/{number:07}.md")
    assert len(identities) == 40_000
    assert 0 < identities.size_bytes <= 5 * len(identities)
    assert sum(len(group.latest) for group in identities._groups.values()) < 2 * id_set.BLOCK_IDS


def test_many_folders_are_hashed() -> None:
    identities = IdSet()
    assert all(identities.add(f"{number}/a") for number in range(200))
    assert identities.size_bytes <= 24 * len(identities)
    assert not any(identities.add(f"{number}/a") for number in range(200))
