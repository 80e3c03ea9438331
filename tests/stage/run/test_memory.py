"""Nothing grows with the number of items, but for a few bytes each that keep ids apart."""

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import inorder
from inorder.lanes import statistics
from inorder.runtime.commit import CommitJournal
from inorder.stage.monitor.monitor import RunMonitor
from tests.stage.jobs import Place

FEW = 2_000


def items(
    count: int, needs_checkpoint: threading.Event, look: Callable[[], None]
) -> Iterator[inorder.WorkItem | inorder.Barrier]:
    """The plan looks around after few items and after many, when everything so far is committed and nothing is under
    way: so it sees what is held, and not how busy the machine is. Until the next checkpoint the journal holds what was
    committed, and a thread that waits may hold its last batch: so a single item with a checkpoint goes before."""
    for number in range(count):
        if number in (FEW, count - FEW):
            yield inorder.Barrier()
            needs_checkpoint.set()
            yield inorder.WorkItem(item_id=f"alone-{number}")
            yield inorder.Barrier()
            needs_checkpoint.clear()
            look()
        yield inorder.WorkItem(item_id=f"item-{number}")


def hopeless(item: inorder.WorkItem) -> None:
    """Every item fails with words of its own."""
    raise ValueError(f"{item.item_id} is bad")


def held_by(monitor: RunMonitor) -> int:
    """Entries of all the containers that a monitor keeps."""
    metrics = monitor._metrics
    return sum(
        map(
            len,
            (
                metrics._planned_ms,
                metrics._dispatched_ms,
                metrics._computed,
                metrics._active,
                monitor._exec_ms._buckets,
                metrics.queue_ms._buckets,
                metrics.start_ms._buckets,
                metrics.wait_ms._buckets,
                metrics.commit_ms._buckets,
                monitor._errors._counts,
                monitor._errors._first,
                monitor._slowest.items,
                monitor._sums.totals,
                monitor._sums.groups,
            ),
        )
    )


@pytest.mark.slow
@pytest.mark.usefixtures("young_garbage")
@pytest.mark.parametrize(
    ("worker", "count"),
    [
        pytest.param(lambda item: None, 8_000, id="success"),
        pytest.param(hopeless, 6_000, id="failure"),
    ],
)
@pytest.mark.req("RUN-2", "WIN-7")
def test_what_a_run_holds_does_not_grow_with_its_plan(
    place: Place, worker: Any, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of memory are counted when few items are committed, and when many are."""
    monitors: list[RunMonitor] = []
    start = RunMonitor.start

    def starting(self: RunMonitor, *arguments: Any) -> None:
        monitors.append(self)
        start(self, *arguments)

    monkeypatch.setattr(RunMonitor, "start", starting)
    monkeypatch.setattr(statistics, "LATEST_MAX", 8)  # how soon a thousand are there depends on the machine
    needs_checkpoint = threading.Event()
    monkeypatch.setattr(CommitJournal, "is_checkpoint_due", property(lambda _: needs_checkpoint.is_set()))
    blocks: list[int] = []
    held: list[int] = []

    def look() -> None:
        gc.collect()
        blocks.append(sys.getallocatedblocks())
        held.append(held_by(monitors[0]))

    outcome = place.run(items(count, needs_checkpoint, look), worker, attempts_log=True, max_queue=64, fsync="interval")
    assert outcome.scheduled == count + 2
    few, many = blocks
    assert many - few < (count - 2 * FEW) / 2, "more than one block of memory for every second item"
    assert max(held) < 4000


def test_freed_memory_is_returned_after_the_last_item(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it is in pieces, and the next stage of the process takes more."""
    released: list[tuple[int, int]] = []
    monkeypatch.setattr(
        "inorder.stage.run.release_after_work", lambda items: released.append((items, len(place.rows())))
    )
    place.run(place.items(3))
    assert released == [(3, 3)]
