"""A place to run stages in: sources, a DATA folder, and what is found there afterwards."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import inorder
from inorder.stage.contracts import PassItem
from inorder.stage.data_layout import RESERVED_FOLDERS
from inorder.stage.manifest.rows import VOLATILE_FIELDS

STAGE = "shout"
Row = dict[str, Any]


def to_pass_item(item: inorder.WorkItem, **fields: str) -> PassItem:
    """The same item, in a pass of the package."""
    return PassItem(**{name: getattr(item, name) for name in item.__struct_fields__} | fields)


class Place:
    """Sources and DATA in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.sources = folder / "sources"
        self.sources.mkdir()
        self.calls = folder / "calls"
        """One line for every call of a worker."""

    def source(self, name: str, text: str) -> Path:
        path = self.sources / name
        path.write_text(text, encoding="utf-8")
        return path

    def item(self, name: str, do: str = "shout", **fields: Any) -> inorder.WorkItem:
        """An item with a source and an output of that name; `do` says what its worker does."""
        path = self.sources / name
        if not path.exists():
            path.write_text(f"text of {name}\n", encoding="utf-8", errors="backslashreplace")
        known = {"inputs": {"text": path}, "outputs": {"loud": f"loud/{name}.txt"}, "cfg_hash": "1"} | fields
        meta = {"do": do, "calls": str(self.calls), **fields.pop("meta", {})}
        return inorder.WorkItem(item_id=name, **(known | {"meta": meta}))

    def item_as_it_is(self, name: str) -> inorder.WorkItem:
        """The same item, whether or not its source is there."""
        is_there = (self.sources / name).exists()
        item = self.item(name)
        if not is_there:
            (self.sources / name).unlink()
        return item

    def items(self, count: int) -> list[inorder.WorkItem]:
        return [self.item(f"item-{number:04}") for number in range(count)]

    def plan(self, items: Iterable[inorder.WorkItem], *, total: int | None = None) -> inorder.StagePlan:
        return inorder.StagePlan(STAGE, items, total)

    def options(self, **options: Any) -> inorder.StageOptions:
        known = {"data": self.data, "workers": 2, "progress": "none", "fsync": "off", "retry_backoff_s": 0.001}
        return inorder.StageOptions(**(known | options))

    def run(
        self,
        items: Iterable[inorder.WorkItem],
        worker: Callable[..., Any] | None = None,
        hooks: inorder.StageHooks | None = None,
        *,
        total: int | None = None,
        **options: Any,
    ) -> inorder.StageOutcome:
        from tests.stage.workers import obey

        return inorder.run_stage(self.plan(items, total=total), worker or obey, self.options(**options), hooks)

    # ---- what is found afterwards

    def lines(self) -> list[Row]:
        """The whole manifest."""
        return read_lines(self.data / "manifests" / f"{STAGE}.jsonl")

    def runs(self) -> list[list[Row]]:
        """The rows of every run, its `__config__` first."""
        found: list[list[Row]] = []
        for row in self.lines():
            if row["doc_id"] == "__config__":
                found.append([])
            found[-1].append(row)
        return found

    def rows(self) -> dict[str, Row]:
        """The rows of the latest run by item."""
        return {row["doc_id"]: row for row in self.runs()[-1][1:]}

    def row(self, name: str) -> Row:
        return self.rows()[name]

    def statuses(self) -> dict[str, str]:
        return {name: row["status"] for name, row in self.rows().items()}

    def published(self) -> dict[str, bytes]:
        """Everything in DATA that is not the runner's own."""
        return {
            path: content
            for path, content in tree(self.data).items()
            if path.split("/")[0] not in (*RESERVED_FOLDERS, ".x")
        }

    def loud(self, name: str) -> str:
        return (self.data / "loud" / f"{name}.txt").read_text(encoding="utf-8")

    def staged(self) -> list[str]:
        """What lies in staging."""
        return [path for path in tree(self.data) if path.startswith(".staging/")]

    def called(self) -> list[str]:
        """The items that workers were called for, since the last question."""
        if not self.calls.exists():
            return []
        found = self.calls.read_text(encoding="utf-8").split()
        self.calls.unlink()
        return sorted(found)

    def telemetry(self, outcome: inorder.StageOutcome) -> list[Row]:
        return read_lines(self.data / "telemetry" / f"{outcome.run_id}.jsonl")

    def attempts(self, outcome: inorder.StageOutcome) -> list[Row]:
        return read_lines(self.data / "attempts" / f"{outcome.run_id}.jsonl")


def tree(folder: Path) -> dict[str, bytes]:
    """Every file beneath a folder, by its relative path."""
    return dict(sorted(_files(folder, folder)))


def _files(folder: Path, root: Path) -> Iterator[tuple[str, bytes]]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield os.path.relpath(path, root), path.read_bytes()


def read_lines(path: Path) -> list[Row]:
    """A file of JSON lines, every one of them whole."""
    data = path.read_bytes()
    assert data == b"" or data.endswith(b"\n")
    return [json.loads(line) for line in data.splitlines()]


def steady(rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Rows without what is allowed to differ from run to run."""
    return [{field: value for field, value in row.items() if field not in VOLATILE_FIELDS} for row in rows]
