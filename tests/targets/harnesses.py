"""The conformance harness of a target: subclass it for a real one."""

import struct
from pathlib import Path

from inorder.core.transitions import State
from inorder.sinks.base import Entry, Sink
from inorder.sinks.testing import SinkHarness
from inorder.targets.base import ExportedChunk, ExportedDocument, encode_document
from inorder.targets.sink import ExportDelivery, TargetSink
from tests.targets.file_target import FileTarget, read_file


def make_document(seq: int, *, dimensions: int = 0) -> ExportedDocument:
    """A document with one or two chunks. Its id is in the order of the seqs."""
    vector = struct.pack(f"<{dimensions}f", *(seq + at for at in range(dimensions)))
    chunks = [
        ExportedChunk(
            number=number,
            chunk_id=f"00000000-0000-4000-8000-{seq:08}{number:04}",
            kind="section",
            name="",
            context=f"Title {seq} > documents",
            headings=f"Title {seq}",
            start=0,
            end=9,
            pages=[1],
            text=f"result {seq} part {number}",
            vector=vector,
        )
        for number in range(1 + seq % 2)
    ]
    return ExportedDocument(f"documents/{seq:08}.md", f"hash of {seq}", "document", "en", 0, chunks)


class TargetHarness(SinkHarness):
    """A place of a target. `encode` is that of the target."""

    stays_ahead = True
    encode = staticmethod(encode_document)
    dimensions = 0

    def entry(self, seq: int, outcome: State) -> Entry:
        if outcome is not State.TERMINAL_SUCCESS:
            return Entry(seq, outcome, item=f"item {seq}")
        document = make_document(seq, dimensions=self.dimensions)
        return Entry(seq, outcome, payload=ExportDelivery(document.doc_id, self.encode(document)))

    def partial_entry(self, seq: int) -> Entry:
        payload = self.entry(seq, State.TERMINAL_SUCCESS).payload
        return Entry(seq, State.TERMINAL_FAIL, item=f"item {seq}", payload=payload)


class FileTargetHarness(TargetHarness):
    """The target of these tests."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "target.json")
        self.target = FileTarget(self.path)

    def open(self) -> Sink:
        return TargetSink(self.target)

    def content(self) -> object:
        return read_file(self.path)["documents"]

    def applied_seqs(self) -> list[int]:
        return sorted(int(doc_id[10:18]) for doc_id in read_file(self.path)["documents"])

    def damage(self) -> None:
        Path(self.path).unlink()

    def write_count(self) -> int | None:
        return self.target.writes
