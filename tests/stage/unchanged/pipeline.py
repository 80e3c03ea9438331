"""Two stages with stores, the second of which is made of the results of the first."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import inorder
from inorder.documents.edits import edit_documents
from inorder.sinks.packed_lines import open_lines
from inorder.stage.context import StageContext
from inorder.stage.contracts import Derivation
from inorder.stage.data_layout import DataLayout
from inorder.stage.manifest.reader import read_lines
from inorder.stage.store.database import open_store
from inorder.stage.store.inputs import StoredInput
from inorder.stage.store.rows import StoredItem
from tests.stage.jobs import Place


class Pipeline:
    """Stage `first` writes what it reads in capitals, stage `second` writes that twice."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.data = str(place.data)
        self.version = "1"
        self.is_same = True
        self.finds_edits = False
        """Whether the second stage finds out which of its items may have changed."""
        self.called: list[str] = []
        self.read: list[str] = []
        """The items of the second stage that were read from its plan."""

    def run(self, hooks: inorder.StageHooks | None = None, **options: Any) -> inorder.StageOutcome:
        """Run both stages. Returns the outcome of the second."""
        self.run_first()
        return self.run_second(hooks, **options)

    def run_first(self) -> inorder.StageOutcome:
        names = sorted(path.name for path in self.place.sources.iterdir())
        items = [self.place.item(name, outputs={"loud": f"loud/{name}"}) for name in names]
        plan = inorder.StagePlan("first", items, retires=lambda *_: True, is_stored=True)
        return inorder.run_stage(plan, shout, self.place.options())

    def run_second(self, hooks: inorder.StageHooks | None = None, **options: Any) -> inorder.StageOutcome:
        self.called.clear()
        self.read.clear()
        plan = inorder.StagePlan(
            "second",
            SecondItems(self),
            retires=lambda *_: True,
            is_stored=True,
            derived_from=Derivation(
                stages=("first",),
                version=self.version,
                is_same=lambda: self.is_same,
                find_edits=self._find_edits if self.finds_edits else None,
            ),
        )
        return inorder.run_stage(plan, self._repeat, self.place.options(**options), hooks)

    def _find_edits(self, last: inorder.LastRun) -> inorder.PlanEdits | None:
        store = open_store(self.data, "first")
        assert store is not None
        rows = {item_id: store.get(item_id) for item_id in sorted(last.changed["first"])}
        items = {item_id: [self.make_second(row)] for item_id, row in rows.items() if row is not None}
        return edit_documents(last, rows, items, items.__getitem__)

    def make_second(self, row: StoredItem) -> inorder.WorkItem:
        self.read.append(row.item_id)
        source = StoredInput(self.data, "first", row.item_id, f"loud/{row.item_id}", row.size, row.sha256)
        outputs = {"long": f"long/{row.item_id}"}
        return inorder.WorkItem(item_id=row.item_id, inputs={"loud": source}, outputs=outputs, cfg_hash=self.version)

    def _repeat(self, item: inorder.WorkItem, ctx: StageContext) -> dict[str, int]:
        self.called.append(item.item_id)
        text = ctx.read_input("loud")
        if text == b"BAD":
            raise ValueError("this one is bad")
        if text == b"ODD":
            ctx.warn("this one is odd")
        ctx.write_output("long", text + text)
        return {"letters": len(text)}

    def forget(self) -> None:
        """Remove the receipt of the second stage."""
        Path(DataLayout(self.data, "second").receipt).unlink()

    def list_runs(self) -> list[list[bytes]]:
        """The rows of every run of the second stage, without the `__config__` rows."""
        runs: list[list[bytes]] = []
        for line in read_lines(f"{self.data}/manifests/second.jsonl"):
            assert line.row is not None
            if line.row.is_config:
                runs.append([])
            else:
                runs[-1].append(line.raw)
        return runs

    def list_written(self) -> list[bytes]:
        """The lines that the latest run of the second stage has written, without the `__config__` row."""
        with open_lines(f"{self.data}/manifests/second.jsonl") as file:
            lines = file.read().splitlines()
        start = max(number for number, line in enumerate(lines) if b'"doc_id":"__config__"' in line)
        return lines[start + 1 :]

    def list_results(self) -> dict[str, bytes]:
        store = open_store(self.data, "second")
        assert store is not None
        found = {item.item_id: store.read(item.item_id) for item in store.iterate()}
        return {item_id: each[1] for item_id, each in found.items() if each is not None}


class SecondItems:
    """The items of the second stage."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    def __iter__(self) -> Iterator[inorder.WorkItem]:
        store = open_store(self._pipeline.data, "first")
        assert store is not None
        yield from map(self._pipeline.make_second, store.iterate())


def shout(item: inorder.WorkItem, ctx: StageContext) -> None:
    """Write a source in capitals."""
    ctx.write_output("loud", Path(item.inputs["text"]).read_bytes().upper())
