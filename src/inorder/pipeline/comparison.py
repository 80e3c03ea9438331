"""Compare the sources with the library: which files are new, changed, gone or unchanged, and which steps are due.

The walk of a source and the rows of the library have the same order, so one pass over both finds everything. Whether a
file is unchanged is decided here and nowhere else: by the signature of its stat, or else by the hash of its content.
Which steps are due is decided in `due`.

What is to be done is kept in a temporary file, in the order of the ids: there may be millions of files, and the run
begins when all of them are known.
"""

import tempfile
from collections.abc import Iterator

import msgspec

from inorder.documents.copies import SizeFilter
from inorder.library.reader import KnownFile
from inorder.stage.fingerprints import hash_file

from .classify import FileKind, reconsider
from .due import find_due
from .outcome import RunOutcome, name_type
from .signatures import pack_signature
from .steps import PipelineSettings, StepTable
from .walk import ListedFile

_BATCH = 256
"""Changes that are encoded together."""


class FileChange(msgspec.Struct, array_like=True):
    """A file with something to do."""

    item_id: str
    path: str
    size: int = 0
    signature: bytes = b""
    is_document: bool = True
    not_code: str = ""
    problem: str = ""
    is_known: bool = False
    """Whether the library has it."""
    has_new_content: bool = True
    """Whether its content is another one than that which the library knows, or may be."""
    is_removed: bool = False


class ChangeLog:
    """Changes in the order in which they were added, in a temporary file."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="inorder-plan-")  # noqa: SIM115
        self._batch: list[FileChange] = []
        self._encode = msgspec.msgpack.Encoder().encode
        self.count = 0

    def add(self, change: FileChange) -> None:
        """Add a change."""
        self.count += 1
        self._batch.append(change)
        if len(self._batch) >= _BATCH:
            self._write()

    def _write(self) -> None:
        data = self._encode(self._batch)
        self._file.write(len(data).to_bytes(4) + data)
        self._batch = []

    def __iter__(self) -> Iterator[FileChange]:
        if self._batch:
            self._write()
        decoder = msgspec.msgpack.Decoder(list[FileChange])
        place = 0
        while True:
            self._file.seek(place)
            size = int.from_bytes(self._file.read(4))
            if not size:
                return
            batch = decoder.decode(self._file.read(size))
            place = self._file.tell()
            yield from batch

    def close(self) -> None:
        """Remove the file."""
        self._file.close()


class SourceComparison:
    """Compares files with what the library knows of them, and collects what is to be done."""

    def __init__(
        self,
        settings: PipelineSettings,
        table: StepTable,
        outcome: RunOutcome,
        *,
        retries: bool = False,
        force: bool = False,
    ) -> None:
        """`outcome` gets the files with nothing to do, and those that are gone. `retries`: failed steps are due.
        `force`: all steps are due."""
        self.changes = ChangeLog()
        self.touched: list[tuple[KnownFile, bytes]] = []
        """Files with the content that the library knows, and another signature."""
        self.has_known = False
        """Whether the library knows files of these sources."""
        self.sizes = SizeFilter()
        """The sizes of all files."""
        self._settings = settings
        self._table = table
        self._outcome = outcome
        self._retries = retries
        self._force = force

    def compare(self, listed: Iterator[ListedFile], known: Iterator[KnownFile]) -> None:
        """Compare the files of a source with those that the library knows of it. Both are in the order of ids."""
        row = next(known, None)
        self.has_known |= row is not None
        unread = ""
        for file in listed:
            if file.stat is not None:
                self.sizes.add(file.stat.size)
            while row is not None and row.item_id < file.item_id:
                self._remove(row, unread)
                row = next(known, None)
            if file.is_unread_folder:
                unread = f"{file.item_id}/"
            if row is not None and row.item_id == file.item_id:
                self._compare_file(file, row)
                row = next(known, None)
            else:
                self.changes.add(_describe(file))
        while row is not None:
            self._remove(row, unread)
            row = next(known, None)

    def consider(self, row: KnownFile) -> None:
        """Consider a file that is not compared: what the library knows of it holds."""
        kind = FileKind.parse(row.kind)
        if kind.role and not row.copy_of and not row.reason and find_due(self._table, kind, row, retries=self._retries):
            self.changes.add(
                FileChange(row.item_id, row.path, row.size, row.signature, is_known=True, has_new_content=False)
            )
        elif any(state.category and self._table.is_enabled(step) for step, state in row.states.items()):
            self._outcome.counts.add("unchanged", -1)
            self._outcome.counts.add("failed")

    def _remove(self, row: KnownFile, unread: str) -> None:
        """Note that a file is gone, unless it lies in a folder that could not be read."""
        if unread and row.item_id.startswith(unread):
            self.count(row)
        else:
            self.changes.add(FileChange(row.item_id, row.path, row.size, is_known=True, is_removed=True))
            self._outcome.counts.add("removed")

    def _compare_file(self, file: ListedFile, row: KnownFile) -> None:
        if not self._is_same(file, row):
            self.changes.add(_describe(file, is_known=True))
            return
        kind = reconsider(FileKind.parse(row.kind), file.path, self._settings.convert)
        if kind is None:
            self.changes.add(_describe(file, is_known=True))
        elif (
            kind.role and not row.copy_of and find_due(self._table, kind, row, retries=self._retries, force=self._force)
        ):
            self.changes.add(_describe(file, is_known=True, has_new_content=False))
        else:
            self.count(row)

    def _is_same(self, file: ListedFile, row: KnownFile) -> bool:
        """Whether a file has the content that the library knows."""
        if file.problem or file.stat is None:
            return False
        signature = pack_signature(file.stat)
        if signature and signature == row.signature:
            return True
        if file.stat.size != row.size or not row.sha256:
            return False
        try:
            is_same = bytes.fromhex(hash_file(file.path)) == row.sha256
        except OSError:
            return False
        if is_same and signature:
            self.touched.append((row, signature))
        return is_same

    def count(self, row: KnownFile) -> None:
        """Count a file with nothing to do."""
        outcome = self._outcome
        if row.copy_of:
            outcome.counts.add("copy")
        elif row.reason:
            outcome.count_not_read(row.reason, name_type(row.item_id))
        elif any(state.category and not self._table.is_skipped(step) for step, state in row.states.items()):
            outcome.counts.add("failed")
        else:
            outcome.counts.add("unchanged")


def _describe(file: ListedFile, *, is_known: bool = False, has_new_content: bool = True) -> FileChange:
    return FileChange(
        file.item_id,
        file.path,
        0 if file.stat is None else file.stat.size,
        b"" if file.stat is None else pack_signature(file.stat),
        file.is_document,
        file.not_code,
        file.problem,
        is_known,
        has_new_content,
    )
