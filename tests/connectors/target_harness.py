"""The conformance harness of a real target, and what its readers find, in one form for all of them."""

from pathlib import Path
from typing import Any

from inorder.sinks.base import Position, Sink
from inorder.targets.base import Target, TargetChanges, TargetLayout, TargetOptions, encode_document
from inorder.targets.registry import make_target
from inorder.targets.sink import TargetSink
from tests.targets.harnesses import TargetHarness, make_document

DIMENSIONS = 4
LAYOUT = TargetLayout(dimensions=DIMENSIONS, provider="hash:4")


def open_target(address: str, layout: TargetLayout = LAYOUT, **options: Any) -> Target:
    """A target that is connected."""
    target = make_target(address, TargetOptions(**options))
    try:
        target.open(layout)
    except BaseException:
        target.close()
        raise
    return target


class RealTargetHarness(TargetHarness):
    """A place of a target at an address. Subclasses say how a reader of its own reads it, and how it is damaged."""

    dimensions = DIMENSIONS

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def address(self) -> str:
        raise NotImplementedError

    def read_rows(self) -> list[Any]:
        """All chunks in an order of their own."""
        raise NotImplementedError

    def open(self) -> Sink:
        return TargetSink(open_target(self.address))

    def content(self) -> object:
        return self.read_rows()

    def applied_seqs(self) -> list[int]:
        return sorted({int(row[0][10:18]) for row in self.read_rows()})


def write(target: Target, *seqs: int, removed: tuple[int, ...] = (), end: int = 1) -> None:
    """Write and remove documents, and store a position with this end."""
    documents = [make_document(seq, dimensions=DIMENSIONS) for seq in seqs]
    ids, gone = [each.doc_id for each in documents], [make_document(seq).doc_id for seq in removed]
    target.write(TargetChanges([encode_document(each) for each in documents], ids, gone), Position(end))


def replace_and_remove(target: Target) -> None:
    """Write three documents, replace one and remove one. Documents 1 and 2 are listed then, page by page."""
    write(target, 1, 2, 3, end=3)
    write(target, 2, removed=(3, 77), end=4)
    first, second = "documents/00000001.md", "documents/00000002.md"
    assert [each.doc_id for each in target.list_documents("", 9)] == [first, second]
    assert [each.doc_id for each in target.list_documents(first, 1)] == [second]
