"""What comes after a barrier is not asked for before everything before it is committed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import inorder
from tests.stage.jobs import Place
from tests.stage.lives import Lives, portable


@pytest.mark.process
@pytest.mark.parametrize("policy", ["io", "cpu"])
def test_a_plan_can_go_by_what_its_own_stage_has_made(place: Place, policy: str) -> None:
    seen: list[list[str]] = []

    def items() -> Iterator[inorder.WorkItem | inorder.Barrier]:
        for name in ("a", "b", "c"):
            yield place.item(name)
        yield inorder.Barrier()
        seen.append(sorted(path for path in place.published() if path.endswith(".txt")))
        yield place.item("d", inputs={"text": place.data / "loud" / "c.txt"})
        yield inorder.Barrier()
        seen.append(sorted(path for path in place.published() if path.endswith(".txt")))

    outcome = place.run(items(), policy=policy)
    assert outcome.succeeded == 4
    assert seen == [
        ["loud/a.txt", "loud/b.txt", "loud/c.txt"],
        ["loud/a.txt", "loud/b.txt", "loud/c.txt", "loud/d.txt"],
    ]
    assert list(place.rows()) == ["a", "b", "c", "d"]


def test_what_fails_before_it_is_committed_too(place: Place) -> None:
    def items() -> Iterator[inorder.WorkItem | inorder.Barrier]:
        yield place.item("a", "fail")
        yield inorder.Barrier()
        yield place.item("b")

    outcome = place.run(items())
    assert (outcome.failed, outcome.succeeded) == (1, 1)


def test_a_stop_before_it_ends_the_run_without_looking_beyond(place: Place) -> None:
    def items() -> Iterator[inorder.WorkItem | inorder.Barrier]:
        yield place.item("a", "fail")
        yield inorder.Barrier()
        raise AssertionError("nobody asked for this")

    outcome = place.run(items(), error_budget=0)
    assert outcome.stop_kind == "error budget"


@pytest.mark.parametrize("count", [0, 1, 3, 5000])
def test_barriers_around_nothing_hold_nobody_up(place: Place, count: int) -> None:
    barriers = [inorder.Barrier()] * count
    outcome = place.run([*barriers, place.item("a"), *barriers, place.item("b"), *barriers])
    assert (outcome.scheduled, outcome.succeeded) == (2, 2)


@pytest.mark.slow
def test_thousands_of_empty_groups_between_barriers_are_passed_over(place: Place) -> None:
    groups: list[list[str]] = [[] for _ in range(5000)]
    groups[2500] = ["a", "b"]

    def items() -> Iterator[inorder.WorkItem | inorder.Barrier]:
        for group in groups:
            yield from map(place.item, group)
            yield inorder.Barrier()

    for counts in ((2, 0), (0, 2)):
        outcome = place.run(items())
        assert (outcome.succeeded, outcome.skipped) == counts


@pytest.mark.process
@pytest.mark.parametrize("death", ["committed:1", "committed:3", "committed:4", "published:9"])
def test_killed_on_either_side_of_it_the_next_run_goes_on(tmp_path: Path, death: str) -> None:
    plan = ["a", "b", "c", "|", "d", "e", "|", "f"]
    ends = []
    for folder, deaths in (("undisturbed", [""]), ("killed", [death, ""])):
        (tmp_path / folder).mkdir()
        lives = Lives(place := Place(tmp_path / folder))
        for each in deaths:
            lives.live(plan, each)
        ends.append((portable(place), place.published()))
    assert ends[0] == ends[1]
