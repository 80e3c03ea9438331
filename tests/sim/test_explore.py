"""Every interleaving of a small scope."""

from collections.abc import Sequence

import pytest

from inorder.sim.disk.choices import Draw, enumerate_all
from inorder.sim.explore import Chooser, Finding, PossibleEvent, Scope, explore, list_starts

TWO_FAULTS = Scope(items=4, workers=2, faults=2, batch_limit=1)
PARTS = 6


def count_explored(scope: Scope, start: Sequence[int] = ()) -> int:
    count = 0
    for finding in explore(scope, start):
        count += 1
        assert finding is None, describe(finding)
    return count


def describe(finding: Finding) -> str:
    return "\n".join([finding.broken_promise, *finding.choices, *finding.transcript])


@pytest.mark.slow
@pytest.mark.req("LED-4", "LED-6", "COM-2", "CAN-1", "RTY-2")
@pytest.mark.parametrize("part", range(PARTS))
def test_four_items_two_workers_two_faults(part: int) -> None:
    """28,000 interleavings, in parts of about the same size."""
    starts = list_starts(TWO_FAULTS, 3)[part::PARTS]
    assert sum(count_explored(TWO_FAULTS, start) for start in starts) > 20_000 // (2 * PARTS)


@pytest.mark.slow
def test_batches_of_two_with_one_fault_as_a_whole_and_in_parts() -> None:
    scope = Scope(items=4, workers=2, faults=1, batch_limit=2)
    whole = count_explored(scope)
    assert whole > 500
    for length in (1, 2, 3):
        starts = list_starts(scope, length)
        assert len({tuple(start) for start in starts}) == len(starts) > 1
        assert sum(count_explored(scope, start) for start in starts) == whole


@pytest.mark.slow
@pytest.mark.req("CAN-3")
def test_an_error_budget_of_none_at_all() -> None:
    assert count_explored(Scope(items=3, workers=2, faults=2, batch_limit=2, error_budget=0)) > 1_000


def test_without_faults_every_order_of_completion_is_tried() -> None:
    assert count_explored(Scope(items=3, workers=3, faults=0, batch_limit=1)) == 6


def test_the_chooser_makes_every_choice_once() -> None:
    def make(draw: Draw) -> str:
        chooser = Chooser(draw)
        first = chooser.choose([PossibleEvent(name, False, list) for name in "ab"])
        second = chooser.choose([PossibleEvent(name, False, list) for name in ("xyz" if first.name == "a" else "u")])
        return first.name + second.name

    assert list(enumerate_all(make)) == ["ax", "ay", "az", "bu"]
    assert list(enumerate_all(make, [0, 1])) == ["ay"]
    assert list(enumerate_all(make, depth=1)) == ["ax", "bu"]
