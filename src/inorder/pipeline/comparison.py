"""Compare the sources with the library: which files are new, changed, gone or unchanged, and which steps are due.

The walk of a source and the rows of the library have the same order, so one pass over both finds everything. Whether a
file is unchanged is decided here and nowhere else: by the signature of its stat, or else by the hash of its content.
Which steps are due is decided in `due`.

The members of an archive that is unchanged come from the library. Those of another one are listed, and each that is
new, changed or gone is marked in the library before the archive itself is noted: its row has no signature until it was
visited. So a run that is interrupted leaves no archive that looks as if all of its members were read.

What is to be done is kept in a temporary file, in the order of the ids: there may be millions of files, and the run
begins when all of them are known.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import msgspec

from inorder.code.rules import IGNORED
from inorder.core.invariants import raise_violation
from inorder.documents.archives.names import ATTACHING_FORMATS
from inorder.files.size_filter import SizeFilter
from inorder.files.surrogates import escape_fields, restore_fields
from inorder.library.reader import KnownFile, LibraryReader
from inorder.library.rows import FileIdentity, FileResult
from inorder.stage.fingerprints import hash_file
from inorder.stage.sources import is_address

from .archives import ArchiveReader, describe_archive, hash_archive, make_archive_kind
from .due import find_due
from .names import DOCTAGS
from .outcome import RunOutcome, name_type
from .sources.addressed import encode_source
from .sources.classify import ARCHIVE, CODE, DOCUMENT, PART, UNREADABLE, FileKind, reconsider
from .sources.walk import NOT_CODE, ListedFile, ListedMembers
from .steps import PipelineSettings, StepTable

if TYPE_CHECKING:
    from inorder.documents.archives.listing import Listing

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
    kind: str = ""
    """What it is, if that is known without reading it: the kind of content that is no file of its own, or, with a
    problem, role and kind."""
    sha256: bytes = b""
    """Of its content, if it is known."""
    parent: str = ""
    """The id of the archive that it is a member of; empty: it is none."""
    archive: str = ""
    """The path of that archive."""
    source: bytes = b""
    """What reads it, as `encode_source` returns it; empty: it is a file of its own, or a member of an archive that was
    not opened."""
    not_read: str = ""
    """Why it is not read, whatever its name says; empty: no such reason is known."""


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
        try:
            data = self._encode(self._batch)
        except UnicodeEncodeError:
            data = self._encode([escape_fields(change) for change in self._batch])
        self._file.write(len(data).to_bytes(4) + data)
        self._batch = []

    def __iter__(self) -> Iterator[FileChange]:
        for batch in self.read_batches():
            yield from batch

    def read_batches(self) -> Iterator[list[FileChange]]:
        """Yield the changes, some hundred at a time."""
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
            yield [restore_fields(change, change.path) for change in batch]

    def close(self) -> None:
        """Remove the file."""
        self._file.close()


_Work = Literal["look", "steps"]
"""What is to be done with a file that has not changed: it is looked at again, or has steps that are due."""


class _Rows:
    """The rows of the library, one at a time."""

    def __init__(self, known: Iterator[KnownFile]) -> None:
        self._known = known
        self.current = next(known, None)

    def take(self) -> KnownFile:
        """Return the current row, and go on."""
        found = self.current
        if found is None:
            raise_violation("a row of the library is taken after the last one")
        self.current = next(self._known, None)
        return found

    def take_if(self, item_id: str) -> KnownFile | None:
        """Return the current row if it has this id, and go on."""
        return self.take() if self.current is not None and self.current.item_id == item_id else None

    def take_before(self, item_id: str) -> Iterator[KnownFile]:
        """Yield the rows before an id."""
        while self.current is not None and self.current.item_id < item_id:
            yield self.take()

    def take_below(self, prefix: str) -> Iterator[KnownFile]:
        """Yield the rows whose ids begin with a prefix."""
        while self.current is not None and self.current.item_id.startswith(prefix):
            yield self.take()


class SourceComparison:
    """Compares files with what the library knows of them, and collects what is to be done."""

    def __init__(
        self,
        settings: PipelineSettings,
        table: StepTable,
        outcome: RunOutcome,
        *,
        archives: ArchiveReader,
        library: LibraryReader | None = None,
        add_listed: Callable[[FileResult], None] = lambda result: None,
        observe_failed: Callable[[KnownFile], None] | None = None,
        retries: bool = False,
        force: bool = False,
    ) -> None:
        """`outcome` gets the files with nothing to do, and those that are gone. `add_listed` is called with what the
        library must know of archives and their members before any of them is visited, and `observe_failed` with every
        file that has failed and is not tried again. `retries`: failed steps are due. `force`: all steps are due."""
        self.changes = ChangeLog()
        self.touched: list[tuple[KnownFile, bytes]] = []
        """Files with the content that the library knows, and another signature."""
        self.has_known = False
        """Whether the library knows files of these sources."""
        self.sizes = SizeFilter()
        """The sizes of all files."""
        self.parts: list[KnownFile] = []
        """Parts of long documents that an earlier run has left."""
        self._settings = settings
        self._table = table
        self._outcome = outcome
        self._archives = archives
        self._library = library
        self._add_listed = add_listed
        self._observe_failed = observe_failed
        self._retries = retries
        self._force = force
        self._listings: dict[str, tuple[Listing | None, KnownFile | None]] = {}
        """By the id of an archive whose members are next: its listing, None if it is unchanged, and its row."""

    def compare(self, listed: Iterator[ListedFile | ListedMembers], known: Iterator[KnownFile]) -> None:
        """Compare the files of a source with those that the library knows of it. Both are in the order of ids."""
        rows = _Rows(known)
        self.has_known |= rows.current is not None
        self._merge(listed, rows, "")

    def _merge(self, listed: Iterable[ListedFile | ListedMembers], rows: _Rows, prefix: str) -> None:
        """Compare files with the rows whose ids begin with a prefix."""
        unread = ""
        for file in listed:
            for row in rows.take_before(file.item_id):
                self._remove(row, unread, is_marked=bool(prefix))
            if isinstance(file, ListedMembers):
                self._compare_members(file.archive, rows)
                continue
            if file.is_unread_folder:
                unread = f"{file.item_id}/"
            if file.stat is not None or file.parent:
                self.sizes.add(file.size)
            self._compare_file(file, rows.take_if(file.item_id))
        for row in rows.take_below(prefix):
            self._remove(row, unread, is_marked=bool(prefix))

    def consider(self, row: KnownFile, *, is_counted: bool) -> None:
        """Consider a file that is not compared: what the library knows of it holds. `is_counted`: an earlier pass has
        counted it."""
        kind = FileKind.parse(row.kind)
        if kind.role == PART:
            self._keep_part(row)
        elif kind.role in (DOCUMENT, CODE) and not row.copy_of and not row.reason and self._is_due(kind, row):
            change = FileChange(row.item_id, row.path, row.size, row.signature, is_known=True, has_new_content=False)
            change.sha256, change.parent = row.sha256, row.parent
            if row.parent and self._library is not None:
                archive = self._library.get_file(row.parent)
                change.archive = "" if archive is None else archive.path
            self.changes.add(change)
        elif not is_counted:
            self.count(row)
        elif self._table.asks:
            pass  # the pass before it has counted failures of the same steps
        elif any(state.category and self._table.is_enabled(step) for step, state in row.states.items()):
            self._outcome.counts.add("unchanged", -1)
            self._outcome.counts.add("failed")

    def _is_due(self, kind: FileKind, row: KnownFile) -> bool:
        """Whether a file has a step to run, or loses the results of one. In the pass in which a model reads pages:
        whether its document lacks answers."""
        due = find_due(self._table, kind, row, retries=self._retries, force=self._force)
        if self._table.asks:
            return any(each.reason == "answers" for each in due)
        return bool(due or self._table.list_dropped(kind, row.states))

    def _keep_part(self, row: KnownFile) -> None:
        """Keep a part of a long document for its merge, unless this run reads no documents."""
        if self._table.is_enabled(DOCTAGS):
            self.parts.append(row)

    def _remove(self, row: KnownFile, unread: str, *, is_marked: bool) -> None:
        """Note that a file is gone, unless it lies in a folder that could not be read."""
        role = FileKind.parse(row.kind).role
        if role == PART:
            self._keep_part(row)
        elif unread and row.item_id.startswith(unread):
            self.count(row)
        else:
            change = FileChange(row.item_id, row.path, row.size, is_known=True, is_removed=True)
            if row.reason == IGNORED or (role == ARCHIVE and not row.is_failed):
                change.kind = row.kind
            else:
                self._outcome.counts.add("removed")
            self._add(change, row if is_marked else None)

    def _add(self, change: FileChange, row: KnownFile | None = None) -> None:
        """Add a change. A member is marked in the library, if its content is another one, or it is gone."""
        self.changes.add(change)
        if row is not None and (change.parent or change.is_removed):
            if change.has_new_content and row.signature:
                self._add_listed(FileResult(make_facts(row, copy_of=row.copy_of, signature=b"")))
        elif change.parent:
            facts = FileIdentity(change.item_id, "", change.path, size=change.size, parent=change.parent)
            self._add_listed(FileResult(facts))

    def _compare_file(self, file: ListedFile, row: KnownFile | None) -> None:
        is_same = row is not None and self._is_same(file, row)
        if file.archive_format is not None and self._is_archive(file, row, is_same=is_same):
            return
        if row is None or not is_same:
            self._add(_describe(file, is_known=row is not None), row)
            return
        kind = FileKind.parse(row.kind)
        if work := "look" if _is_ruled_otherwise(file, kind, row) else self._find_work(file.path, kind, row):
            self._add_unchanged(_describe(file, is_known=True), row, work)

    @cached_property
    def _orphans(self) -> frozenset[str]:
        """The copies that an interrupted run has left without their document: they are looked at as if they were
        new."""
        return frozenset(() if self._library is None else self._library.list_orphans())

    def _find_work(self, path: str, known: FileKind, row: KnownFile) -> _Work | None:
        """What is to be done with a file that has not changed; None: nothing. Then it is counted."""
        kind = known if _is_unreadable(known, row) else reconsider(known, path, self._settings.convert)
        if kind is None or (row.copy_of and row.item_id in self._orphans):
            return "look"
        if kind.role and not row.copy_of and self._is_due(kind, row):
            return "steps"
        self.count(row)
        return None

    def _add_unchanged(self, change: FileChange, row: KnownFile, work: _Work) -> None:
        if work == "steps":
            change.has_new_content, change.sha256 = False, row.sha256
        self._add(change, row)

    def _is_same(self, file: ListedFile, row: KnownFile) -> bool:
        """Whether a file has the content that the library knows."""
        if file.not_read:
            return row.reason == file.not_read
        if file.problem or file.parent != row.parent or (file.stat is None and file.content is None):
            return self._has_same_problem(file, row)
        signature = file.signature
        if signature and signature == row.signature:
            return True
        if file.size != row.size or not row.sha256 or (file.parent and not row.signature):
            return False
        if file.content is not None:
            is_same = file.content.sha256 == row.sha256
        else:
            try:
                is_same = bytes.fromhex(hash_file(file.path)) == row.sha256
            except OSError:
                return False
        if is_same and signature:
            self.touched.append((row, signature))
        return is_same

    def _has_same_problem(self, file: ListedFile, row: KnownFile) -> bool:
        """Whether a member that cannot be read has failed for that reason already."""
        is_known = file.parent == row.parent and file.content is not None and file.content.signature == row.signature
        return bool(file.problem and is_known)

    def count(self, row: KnownFile) -> None:
        """Count a file with nothing to do. An archive is none, unless it cannot be read."""
        outcome = self._outcome
        if row.kind.startswith(f"{ARCHIVE}:") and not row.is_failed:
            return
        if row.copy_of:
            outcome.counts.add("copy")
        elif row.reason:
            outcome.count_not_read(row.reason, name_type(row.item_id))
        elif self._table.has_failed(row.states):
            outcome.counts.add("failed")
            if self._observe_failed is not None:
                self._observe_failed(row)
        else:
            outcome.counts.add("unchanged")
            outcome.count_pages(row.pages_without_text)

    # ---- Archives

    def _is_archive(self, file: ListedFile, row: KnownFile | None, *, is_same: bool) -> bool:
        """Look at a file with the name of an archive or a mail, and keep what its members are compared with. Returns
        whether it is an archive, and so no document itself."""
        is_known = row is not None and is_same and not self._is_listing_due(row)
        listing = None if is_known else self._archives.open(file.path)
        self._listings[file.item_id] = listing, row
        if listing is None:
            if row is None or FileKind.parse(row.kind).role != ARCHIVE:
                return False
            self.count(row)
            return True
        if file.archive_format in ATTACHING_FORMATS or not listing.is_archive:
            return False
        change = _describe(file, is_known=row is not None)
        change.kind = str(make_archive_kind(file.archive_format or ""))
        if listing.problem:
            change.problem, change.sha256 = listing.problem, hash_archive(file.path)
            self.changes.add(change)
        elif row is not None and FileKind.parse(row.kind).role != ARCHIVE:
            self.changes.add(change)  # there is nothing to do, but it may have been a document with copies
        return True

    def _is_listing_due(self, row: KnownFile) -> bool:
        """Whether an archive or a mail that has not changed is listed again."""
        kind = FileKind.parse(row.kind)
        if row.copy_of or kind.role in ("", CODE):
            return self._force
        due = find_due(self._table, kind, row, retries=self._retries, force=self._force)
        return any(each.step.name == DOCTAGS for each in due)

    def _compare_members(self, archive: ListedFile, rows: _Rows) -> None:
        """Compare the members of an archive, or the attachments of a mail."""
        listing, row = self._listings.pop(archive.item_id)
        prefix = f"{archive.item_id}/"
        if listing is None:
            if rows.current is None or not rows.current.item_id.startswith(prefix):
                return
            if self._library is None or not self._library.has_unsettled(archive.item_id):
                self._keep_members(archive, rows, prefix)
                return
            listing, row = self._archives.open(archive.path), None
        self._merge(self._archives.list_members(archive.item_id, archive.path, listing), rows, prefix)
        is_document = archive.archive_format in ATTACHING_FORMATS or not listing.is_archive
        if not is_document and not listing.problem:
            [step] = self._table.list_steps(make_archive_kind(archive.archive_format or ""))
            was_other = row is not None and FileKind.parse(row.kind).role != ARCHIVE
            for result in describe_archive(archive, step, was_other=was_other):
                self._add_listed(result)

    def _keep_members(self, archive: ListedFile, rows: _Rows, prefix: str) -> None:
        """Take the members of an archive that has not changed from the library."""
        for row in rows.take_below(prefix):
            kind = FileKind.parse(row.kind)
            if kind.role == PART:
                self._keep_part(row)
                continue
            self.sizes.add(row.size)
            path = f"{archive.path}/{row.item_id.removeprefix(prefix)}"
            if work := self._find_work(path, kind, row):
                change = FileChange(row.item_id, path, row.size, row.signature, not_code=_NO_CODE, is_known=True)
                change.parent, change.archive = archive.item_id, archive.path
                self._add_unchanged(change, row, work)


def _is_unreadable(kind: FileKind, row: KnownFile) -> bool:
    """Whether a row is that of a member or an object that cannot be read, as its listing says."""
    return kind == UNREADABLE and row.is_failed and (bool(row.parent) or is_address(row.path))


def _is_ruled_otherwise(file: ListedFile, kind: FileKind, row: KnownFile) -> bool:
    """Whether the rules of ignore files no longer admit a file as what it is, or may admit it now."""
    if kind.role == CODE:
        return bool(file.not_code)
    if kind.role == DOCUMENT:
        return not file.is_document and not row.is_failed
    return row.reason in NOT_CODE and file.not_code != row.reason


_NO_CODE = "a member of an archive"


def _describe(file: ListedFile, *, is_known: bool = False) -> FileChange:
    change = FileChange(
        file.item_id,
        file.path,
        file.size,
        file.signature,
        file.is_document,
        file.not_code,
        file.problem,
        is_known,
    )
    if file.content is not None:
        change.kind, change.sha256 = file.content.kind, file.content.sha256
        change.source = encode_source(file.content.source)
    change.parent, change.not_read = file.parent, file.not_read
    return change


def make_facts(known: KnownFile, *, copy_of: str = "", signature: bytes | None = None) -> FileIdentity:
    """Return what is known of a file, as a visit hands it over."""
    return FileIdentity(
        known.item_id,
        known.kind,
        known.path,
        known.signature if signature is None else signature,
        known.sha256,
        known.size,
        known.reason,
        copy_of,
        known.parent,
        known.pages_without_text,
    )
