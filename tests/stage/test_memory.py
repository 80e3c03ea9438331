"""Nothing grows with the number of items, but for a few bytes each that keep ids apart."""

import gc
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import inorder
from inorder.journal.writer import JournalOptions
from inorder.stage import run
from inorder.stage.monitor.monitor import Watch
from tests.stage.jobs import Place

FEW = 2_000


def items(count: int, look: Callable[[], None]) -> Iterator[inorder.WorkItem | inorder.Barrier]:
    """The plan looks around after few items and after many, when everything so far is committed and nothing is under
    way: so it sees what is held, and not how busy the machine is."""
    for number in range(count):
        if number in (FEW, count - FEW):
            yield inorder.Barrier()
            look()
        yield inorder.WorkItem(item_id=f"item-{number}")


def hopeless(item: inorder.WorkItem) -> None:
    """Every item fails with words of its own."""
    raise ValueError(f"{item.item_id} is bad")


def held_by(watch: Watch) -> int:
    """Entries of all the containers that a watch keeps."""
    figures = watch._figures
    return sum(
        map(
            len,
            (
                figures._planned_ms,
                figures._computed_ms,
                figures._active,
                watch._exec_ms._buckets,
                figures.queue_ms._buckets,
                figures.wait_ms._buckets,
                figures.commit_ms._buckets,
                watch._errors._counts,
                watch._errors._first,
                watch._slowest.items,
            ),
        )
    )


@pytest.mark.parametrize(
    ("worker", "count"),
    [
        pytest.param(lambda item: None, 40_000, id="success"),
        pytest.param(hopeless, 8_000, id="failure"),
    ],
)
@pytest.mark.req("RUN-2", "WIN-7")
def test_what_a_run_holds_does_not_grow_with_its_plan(
    place: Place, worker: Any, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of memory are counted when few items are committed, and when many are."""
    watches: list[Watch] = []
    started = Watch.started

    def starting(self: Watch, *arguments: Any) -> None:
        watches.append(self)
        started(self, *arguments)

    monkeypatch.setattr(Watch, "started", starting)
    monkeypatch.setattr(run, "JournalOptions", partial(JournalOptions, checkpoint_ms=50))
    blocks: list[int] = []
    held: list[int] = []

    def look() -> None:
        gc.collect()
        blocks.append(sys.getallocatedblocks())
        held.append(held_by(watches[0]))

    outcome = place.run(items(count, look), worker, attempts_log=True, max_queue=64, fsync="interval")
    assert outcome.scheduled == count
    few, many = blocks
    assert many - few < (count - 2 * FEW) / 2, "more than one block of memory for every second item"
    assert max(held) < 4000
