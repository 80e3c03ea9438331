"""The hooks `group_size` and `before_group`: a worker process reads for several items at once."""

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.core.events import Pulled
from inorder.engines.base import Batch, BatchSizer, Task
from inorder.engines.process import engine as process_engine
from inorder.engines.process.lookahead import Lookahead
from inorder.journal.records import WindowRecord
from inorder.journal.scan import scan
from inorder.stage.contracts import PassHooks
from tests.stage.jobs import Place, read_lines
from tests.support.gates import FixedSizer

pytestmark = [pytest.mark.process, pytest.mark.req("DAT-4")]
COUNT = 60


@pytest.fixture(autouse=True)
def batches_of_sixteen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Items are sent in batches of one size, whatever time they take."""
    monkeypatch.setattr(process_engine, "BatchSizer", lambda **_: FixedSizer(16))


def work(item: inorder.WorkItem, ctx: inorder.StageContext) -> dict[str, object]:
    """Take what was read for the group, or read it now."""
    group, found = ctx.resources.get("group", {}).pop(item.item_id, ("alone", None))
    text = Path(item.inputs["text"]).read_text() if found is None else found
    ctx.output("loud").write_text(text.upper())
    return {"group": group}


def count_five(items: Sequence[inorder.WorkItem]) -> int:
    return 5


def read_group(items: Sequence[inorder.WorkItem], ctx: inorder.StageContext) -> None:
    texts = {item.item_id: Path(item.inputs["text"]).read_text() for item in items}
    ctx.resources["group"] = {name: (items[0].item_id, text) for name, text in texts.items()}


def fail(items: Sequence[inorder.WorkItem], ctx: inorder.StageContext) -> None:
    raise RuntimeError("nothing can be read")


def fail_to_count(items: Sequence[inorder.WorkItem]) -> int:
    raise RuntimeError("nothing can be counted")


def run(place: Place, hooks: PassHooks) -> list[Any]:
    """Run the items in worker processes. Returns the first item of the group of each."""
    plan = place.plan(place.items(COUNT), total=COUNT)
    outcome = inorder.run_stage(plan, work, place.options(policy="cpu", workers=1), hooks)
    assert (outcome.succeeded, outcome.failed) == (COUNT, 0)
    return [row["group"] for row in place.rows().values() if row["status"] == "success"]


def test_a_worker_reads_for_a_group_before_its_first_item(place: Place) -> None:
    groups = run(place, PassHooks(group_size=count_five, before_group=read_group))
    sizes = [groups.count(name) for name in set(groups) - {"alone"}]
    assert sizes
    assert max(sizes) == 5
    assert sorted(path.read_text() for path in place.data.glob("loud/*.txt"))[0] == "TEXT OF ITEM-0000\n"


@pytest.mark.parametrize(("size", "before"), [(count_five, fail), (fail_to_count, read_group)])
def test_items_are_processed_alone_if_their_group_cannot_be_read(place: Place, size: Any, before: Any) -> None:
    assert set(run(place, PassHooks(group_size=size, before_group=before))) == {"alone"}
    lost = [
        line for path in place.data.glob("telemetry/*.jsonl") for line in read_lines(path) if "lost" in line["event"]
    ]
    assert lost == []


def test_threads_call_neither_hook(place: Place) -> None:
    plan = place.plan(place.items(3), total=3)
    hooks = PassHooks(group_size=count_five, before_group=read_group)
    assert inorder.run_stage(plan, work, place.options(policy="io"), hooks).succeeded == 3
    assert {row["group"] for row in place.rows().values() if row["status"] == "success"} == {"alone"}


@pytest.mark.parametrize(("is_grouped", "entries"), [(False, 1024), (True, 16_384)])
def test_windows_have_room_for_the_groups_of_all_workers(place: Place, is_grouped: bool, entries: int) -> None:
    """Quick items, and groups of other workers, do not wait for a group that is computed."""
    grouped = PassHooks(group_size=count_five, before_group=read_group)
    options = place.options(policy="io")
    inorder.run_stage(place.plan(place.items(3), total=3), work, options, grouped if is_grouped else None)
    [journal] = place.data.glob("journal/*")
    records = [scanned.record for scanned in scan(journal.read_bytes()).records]
    assert {record.target_entries for record in records if isinstance(record, WindowRecord)} == {entries}


class Squares:
    """A function that processes groups of items."""

    def __init__(self) -> None:
        self.lookahead = self

    def __call__(self, item: int) -> int:
        return item * item

    def count(self, items: Sequence[int]) -> int:
        return len(items)

    def read(self, items: Sequence[int]) -> None:
        pass


def test_a_batch_is_unpacked_once_and_again_after_an_item_that_cannot_be_unpickled() -> None:
    tasks: list[Any] = [(seq, 1, pickle.dumps(seq)) for seq in range(5)]
    tasks[2] = (2, 1, b"not a pickle")
    lookahead = Lookahead(Squares())
    assert [lookahead.unpack(tasks, start) for start in range(5)] == [[0, 1], [1], [], [3, 4], [4]]
    first = lookahead.unpack(tasks, 0)
    assert [lookahead.unpack(tasks, start) for start in (0, 1)] == [first, first[1:]]
    assert lookahead.unpack([(7, 1, pickle.dumps(7))], 0) == [7], "another batch"


def test_the_second_batch_is_large_whatever_time_the_first_took(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one waits until a model is loaded."""
    monkeypatch.setattr(process_engine, "BatchSizer", BatchSizer)
    engine = process_engine.ProcessEngine(Squares(), 1, timeout_s=None)
    engine.start()
    try:
        [first] = engine.poll(None)
        assert isinstance(first, Pulled)
        assert first.limit == 1
        engine.dispatch(Batch(first.worker, [Task(0, 1, 3)], isolated=False))
        pulled: list[Pulled] = []
        while not pulled:
            pulled = [event for event in engine.poll(None) if isinstance(event, Pulled)]
        assert pulled[0].limit == process_engine.GROUP_START
    finally:
        engine.close()
