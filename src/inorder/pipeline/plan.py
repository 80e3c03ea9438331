"""The plan of a run: an item for each file with a step to run, in the order of ids.

The sources are compared with the library first (`comparison`). Then each file with something to do is looked at: what
it is, whether it is a copy of another, and which steps are due. A file that has no step to run is no item: what is to
be known of it (that it is not read, that it is a copy, that it is gone) goes to the library as a *fact*, with the next
commit. So the plan has only work, and shrinks as the run commits.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from typing import NamedTuple

import msgspec

from inorder.code.rules import IGNORED
from inorder.documents.convert.settings import ANY
from inorder.documents.cost import estimate_code_chunks, estimate_pages
from inorder.documents.readers.registry import READERS
from inorder.engines.attempt import escape_surrogates
from inorder.files.heads import read_head
from inorder.library.reader import KnownFile, LibraryReader
from inorder.library.rows import FileIdentity, FileResult
from inorder.runtime.identity import hash_strings, new_run_id
from inorder.sources.limits import FetchLimits
from inorder.sources.remote_input import RemoteInput
from inorder.stage.contracts import Barrier, PassItem
from inorder.stage.sources import is_address

from .archives import ArchiveReader
from .comparison import FileChange, SourceComparison, make_facts
from .copies import CopyDetector
from .due import Due, find_due, make_due_steps
from .outcome import FileClass, RunOutcome, name_type
from .parts import LongDocuments
from .remote import RemoteObjects, list_remote
from .sources.addressed import decode_source, encode_source
from .sources.classify import (
    ARCHIVE,
    CODE,
    DOCUMENT,
    HEAD_BYTES,
    NO_FILE,
    UNREADABLE,
    FileKind,
    classify_content,
    classify_file,
    classify_unreadable,
    reconsider,
)
from .sources.names import SourcePart, find_place, is_inside, is_own
from .sources.walk import ListedFile, ListedMembers, Listings, walk_part
from .steps import DueStep, PipelineSettings, StepTable
from .visit import FILE, VisitOrder, encode_order, list_needed

AddSettings = Callable[[str, str, Mapping[str, str]], None]
_OF_OTHER_STEPS = {
    DOCUMENT: "a document that is new or has changed: inorder run reads it",
    CODE: "source code: inorder index reads it",
    ARCHIVE: "an archive: inorder run reads it",
}
"""Why a file is not read by a run that has not all steps."""
_WARNINGS_MAX = 20
"""How many problems of ignore files are said."""
_RESULT_BYTES, _RESULT_FACTOR = 2000, 3
"""About the size of the results of a file: a fixed part, and this many times its size."""


class PlannedFile(NamedTuple):
    """What a run does with a file, as far as that is known before."""

    item_id: str
    file_class: FileClass
    """What it is counted as, if its steps succeed."""
    path: str = ""
    kind: FileKind | None = None
    known: KnownFile | None = None
    due: Sequence[Due] = ()
    """The steps that run, or may run."""
    reason: str = ""
    """Why it is not read, or cannot be read."""
    copy_of: str = ""
    """The document that it is a copy of, or becomes one of."""


class FilePlan:
    """What there is to do for some parts of sources."""

    def __init__(
        self,
        settings: PipelineSettings,
        parts: Sequence[SourcePart],
        library: LibraryReader | None,
        outcome: RunOutcome,
        *,
        data: str,
        add_listed: Callable[[FileResult], None] = lambda result: None,
        retries: bool = False,
        force: bool = False,
        observe: Callable[[PlannedFile], None] | None = None,
    ) -> None:
        """`library` is None if there is none yet. `add_listed` is called with what the library must know of archives
        and their members before any of them is visited. `retries`: failed steps are due. `force`: all steps are due.
        `observe` is called with every file that there is something to say of, while the items are made."""
        self._settings = settings
        self._table = StepTable(settings)
        self._parts = parts
        self._library = library
        self._data = data
        self._retries = retries
        self._force = force
        self._observe = observe
        self.outcome = outcome
        self._archives = ArchiveReader(settings.password_file)
        self._missing_count, self._first_missing = 0, ""
        """Files that are not compared and not there, and the path of the first."""
        self._objects: dict[str, RemoteObjects] = {}
        """The objects of remote sources that are not compared, by the name of the source."""
        self._comparison = SourceComparison(
            settings,
            self._table,
            outcome,
            archives=self._archives,
            library=library,
            add_listed=add_listed,
            observe_failed=None if observe is None else self._tell_of_failed,
            retries=retries,
            force=force,
        )
        self._add_settings: AddSettings = lambda step, digest, parts: None
        self._find_due_if_new = cache(partial(self._find_due, known=None))
        """The steps of a file that the library does not know: the same for all files of a kind."""
        self._kinds: set[FileKind] = set()
        """The kinds of files that items were made of."""
        self._idle_count = 0
        """Files that were looked at and are no items, without copies that became documents."""

    @property
    def count(self) -> int:
        """How many files have something to do."""
        return self._comparison.changes.count

    def count_expected(self) -> int:
        """Return how many items there are at most: all files with something to do, until they are looked at."""
        return self.count - self._idle_count

    @property
    def has_work(self) -> bool:
        """Whether there is something to do: with files, or with parts of long documents that an earlier run has
        left."""
        return bool(self.count or self._comparison.parts)

    @property
    def touched(self) -> list[tuple[KnownFile, bytes]]:
        """Files whose content is the same, with another signature."""
        return self._comparison.touched

    def compare(self) -> None:
        """Walk all parts, and compare them with the library. Raises OperatorError if one of them is not there."""
        listings: Listings = {}
        for part in sorted(self._parts, key=find_place):
            known = iter(()) if self._library is None else self._library.list_files(part.prefix)
            listed, known = _select(part, self._list(part, listings), known)
            first, removed = next(listed, None), self.outcome.counts.removed
            self._comparison.compare(listed if first is None else chain((first,), listed), known)
            if first is None and self.outcome.counts.removed > removed and not part.below:
                self.outcome.notes.append(
                    f"no file is left in {part.location}; `inorder forget {part.name}` removes the source, too"
                )

    def _list(self, part: SourcePart, listings: Listings) -> Iterator[ListedFile | ListedMembers]:
        if is_own(part, self._data):
            return iter(())
        if not is_address(part.location):
            return walk_part(part, (os.path.realpath(self._data),), listings, self._warn)
        return list_remote(part, self._fetch_limits, self._warn)

    def _warn(self, problem: str) -> None:
        """Note a problem of an ignore file, once, unless there are many."""
        known, problem = self.outcome.warnings, escape_surrogates(problem)
        if problem not in known and len(known) < _WARNINGS_MAX:
            known.append(problem if len(known) < _WARNINGS_MAX - 1 else "more ignore files have problems")

    @property
    def _fetch_limits(self) -> FetchLimits:
        return self._settings.limit_fetches()

    @property
    def has_remote(self) -> bool:
        """Whether one of the sources is remote."""
        return any(is_address(part.location) for part in self._parts)

    def consider_known(self, *, is_counted: bool = False) -> None:
        """Walk nothing: find what is due for the files of these parts that the library knows. `is_counted`: an earlier
        pass has counted them."""
        for part in sorted(self._parts, key=find_place):
            for known in () if self._library is None else self._library.list_files(part.prefix):
                self._comparison.consider(known, is_counted=is_counted)

    def remove_known(self) -> None:
        """Walk nothing: all files of these parts are to be removed."""
        for part in self._parts:
            known = iter(()) if self._library is None else self._library.list_files(part.prefix)
            self._comparison.compare(iter(()), known)

    def close(self) -> None:
        """Forget what was found."""
        self._comparison.changes.close()

    def make_items(
        self, add_fact: Callable[[FileResult], None], add_settings: AddSettings
    ) -> Iterator[PassItem | Barrier]:
        """Yield the items. What is to be known of files that are no items is passed to `add_fact`, and what the
        settings of steps are made of to `add_settings`."""
        comparison, self._add_settings = self._comparison, add_settings
        hashes_all = self._has_other_sources
        library = self._library if comparison.has_known or hashes_all else None
        long = LongDocuments(self._settings.convert, self._library, comparison.parts, self._data)
        with CopyDetector(library, comparison.changes, comparison.sizes, hashes_all=hashes_all) as copies:
            for change, known in self._list_changes():
                item = None if change.is_removed else self._make_item(change, known, copies, add_fact)
                if change.is_removed and not change.kind and self._observe is not None:
                    self._observe(PlannedFile(change.item_id, "removed", change.path))
                self._idle_count += item is None
                if item is not None and (self._table.asks or not long.take(item, change.size)):
                    yield item
            for copy, also in copies.list_promoted():
                item = self._promote(copy, also)
                self._idle_count -= item is not None
                if item is not None and not long.take(item, copy.size):
                    yield item
            for item_id in copies.list_removed():
                add_fact(FileResult(FileIdentity(item_id), is_removed=True))
        if not self._table.asks:
            yield from long.make_items(add_fact)
        if self._missing_count:
            files = "1 file is" if self._missing_count == 1 else f"{self._missing_count:,} files are"
            self.outcome.warnings.append(f"{files} not there, and not read again; the first: {self._first_missing}")

    def _list_changes(self) -> Iterator[tuple[FileChange, KnownFile | None]]:
        """Yield the changes, and what the library knows of each file."""
        for batch in self._comparison.changes.read_batches():
            asked = [change.item_id for change in batch if change.is_known and not change.is_removed]
            known = {} if self._library is None else self._library.get_files(asked)
            yield from ((change, known.get(change.item_id)) for change in batch)

    def _describe_settings(self, kind: FileKind) -> None:
        """Note what the settings of the steps for a kind of files are made of, once."""
        if kind.kind == ANY:  # the visit sees which kind it is
            for each in (*READERS, "image"):
                self._describe_settings(kind._replace(kind=each))
        if kind not in self._kinds:
            self._kinds.add(kind)
            for describe in (self._table.describe_settings, self._table.describe_failed_settings):
                for step, (digest, parts) in describe(kind).items():
                    self._add_settings(step, digest, parts)

    @property
    def _has_other_sources(self) -> bool:
        """Whether the library has files of other sources, or of other parts of these."""
        if self._library is None:
            return False
        walked = {part.name for part in self._parts if not part.below}
        return any(source.name not in walked for source in self._library.list_sources())

    def _promote(self, known: KnownFile, also: list[FileResult]) -> PassItem | None:
        """Make a file a document that was a copy of one."""
        kind = FileKind.parse(known.kind)
        facts = make_facts(known)
        change = FileChange(known.item_id, known.path, known.size, known.signature, is_known=True)
        if known.parent and self._library is not None:
            archive = self._library.get_file(known.parent)
            change.parent, change.archive = known.parent, "" if archive is None else archive.path
        item = self._make_work(change, known, kind, facts, b"", also)
        if item is not None and any(is_inside(known.item_id, part.prefix) for part in self._parts):
            self.outcome.counts.add("copy", -1)  # as which it was counted
        return item

    def _make_item(
        self,
        change: FileChange,
        known: KnownFile | None,
        copies: CopyDetector,
        add_fact: Callable[[FileResult], None],
    ) -> PassItem | None:
        is_archive = change.kind.startswith(f"{ARCHIVE}:")
        if is_archive and not change.problem:
            return None
        if change.archive and change.has_new_content and not self._find_member(change):
            return None
        head, kind = self._look_at(change, known)
        facts = FileIdentity(change.item_id, str(kind), change.path, change.signature, b"", change.size)
        facts.parent = change.parent
        if kind.problem:
            facts.sha256 = change.sha256
        if not kind.role:
            is_gone = kind.reason == IGNORED and _is_counted(known)
            if is_gone:
                self.outcome.counts.add("removed")
            self.outcome.count_not_read(kind.reason, name_type(change.item_id))
            self._tell(change, "removed" if is_gone else "not read", kind, known, reason=kind.reason)
            add_fact(FileResult(msgspec.structs.replace(facts, reason=kind.reason)))
            return None
        also: list[FileResult] = []
        if kind.role == DOCUMENT and not kind.problem and not is_address(change.path):
            found = copies.find(change, str(kind), head)
            if found.copy_of:
                self.outcome.counts.add("copy")
                self._tell(change, "copy", kind, known, copy_of=found.copy_of)
                add_fact(FileResult(msgspec.structs.replace(facts, copy_of=found.copy_of, sha256=found.sha256)))
                return None
            also = list(found.also)
        dropped = [] if known is None else self._table.list_dropped(kind, known.states)
        if known is not None and dropped:
            also.append(FileResult(make_facts(known), drops=dropped, is_held=True))
        item = self._make_work(change, known, kind, facts, head, also)
        if item is None and dropped:
            self.outcome.counts.add("changed")
            self._tell(change, "changed", kind, known)
            add_fact(also[-1])
        return item

    def _look_at(self, change: FileChange, known: KnownFile | None) -> tuple[bytes, FileKind]:
        """The first bytes of a file, and what it is."""
        if known is not None and not change.has_new_content:
            kind = reconsider(FileKind.parse(known.kind), change.path, self._settings.convert)
            if kind is not None:
                return b"", kind
        if change.not_read:
            return b"", FileKind("", NO_FILE, change.not_read)
        if change.problem:
            is_archive = change.kind.startswith(f"{ARCHIVE}:")
            return b"", (FileKind.parse(change.kind) if is_archive else UNREADABLE)._replace(problem=change.problem)
        settings, is_document = self._settings.convert, change.is_document
        if change.source:
            source = decode_source(change.source)
            if not isinstance(source, RemoteInput):
                return b"", classify_content(change.path, change.kind, change.size, settings)
            return b"", classify_content(
                source.path, change.kind, change.size, settings, is_document=is_document, not_code=change.not_code
            )
        try:
            head = read_head(change.path, HEAD_BYTES)
        except OSError as error:
            problem = f"the file cannot be read: {error.strerror or error}"
            return b"", classify_unreadable(change.path, problem, not_code=change.not_code)
        return head, classify_file(
            change.path, head, change.size, settings, is_document=is_document, not_code=change.not_code
        )

    def _find_due(
        self, kind: FileKind, known: KnownFile | None, *, has_new_content: bool = True
    ) -> tuple[list[Due], list[DueStep]]:
        """The steps that are due, and the same as a visit needs to know them."""
        due = find_due(
            self._table, kind, known, has_new_content=has_new_content, retries=self._retries, force=self._force
        )
        return due, make_due_steps(due)

    def _tell_of_failed(self, row: KnownFile) -> None:
        """Tell the observer of a file that has failed, and is not tried again."""
        if self._observe is not None:
            self._observe(PlannedFile(row.item_id, "failed", row.path, FileKind.parse(row.kind), row))

    def _tell(
        self,
        change: FileChange,
        file_class: FileClass,
        kind: FileKind,
        known: KnownFile | None,
        *,
        due: Sequence[Due] = (),
        reason: str = "",
        copy_of: str = "",
    ) -> None:
        """Tell the observer what happens to a file."""
        if self._observe is not None:
            self._observe(PlannedFile(change.item_id, file_class, change.path, kind, known, due, reason, copy_of))

    def _find_content(self, change: FileChange, *, is_same: bool) -> bool:
        """Find what reads the content of a file that was not compared. Returns whether it is there."""
        if change.archive:
            return self._find_member(change)
        if is_address(change.path):
            return self._find_object(change)
        return not is_same or os.path.lexists(change.path)

    def _note_missing(self, change: FileChange, known: KnownFile | None) -> None:
        """Note a file that is not there: it keeps what it has until its source is compared."""
        self._missing_count += 1
        self._first_missing = self._first_missing or change.path
        if known is not None:
            self._comparison.count(known)

    def _find_member(self, change: FileChange) -> bool:
        """Complete what is known of a member of an archive that was not opened. Returns whether it is still there: if
        not, the archive has changed since it was compared, and the next run sees that."""
        member = self._archives.find(change.parent, change.archive, change.item_id)
        if member is None or member.content is None:
            return False
        change.problem, change.kind, change.signature = member.problem, member.content.kind, member.signature
        change.source = encode_source(member.content.source)
        return True

    def _find_object(self, change: FileChange) -> bool:
        """Complete what is known of an object of a remote source that was not listed. Returns whether it is still
        there: if not, the next run that compares the source removes it."""
        for part in self._parts:
            if is_inside(change.item_id, part.prefix):
                if part.name not in self._objects:
                    self._objects[part.name] = RemoteObjects(list_remote(part, self._fetch_limits))
                content = self._objects[part.name].find(change.item_id)
                change.source = b"" if content is None else encode_source(content.source)
        return bool(change.source)

    def _make_work(
        self,
        change: FileChange,
        known: KnownFile | None,
        kind: FileKind,
        facts: FileIdentity,
        head: bytes,
        also: list[FileResult],
    ) -> PassItem | None:
        is_same = known is not None and not change.has_new_content
        if known is not None and is_same:
            facts = msgspec.structs.replace(facts, sha256=known.sha256, signature=known.signature)
            facts.pages_without_text = known.pages_without_text
        if known is None:
            due, steps = self._find_due_if_new(kind)
        else:
            due, steps = self._find_due(kind, known, has_new_content=not is_same)
        if not due:
            if not is_same:
                self.outcome.count_not_read(_OF_OTHER_STEPS[kind.role], name_type(change.item_id))
            return None
        reads_file = not kind.problem and any(not each.step.reads for each in due)
        if reads_file and not change.source and not self._find_content(change, is_same=is_same):
            self._note_missing(change, known)
            return None
        self._describe_settings(kind)
        if known is not None and known.states and FileKind.parse(known.kind).role != kind.role:
            also = [FileResult(FileIdentity(change.item_id), is_removed=True), *also]
        outputs = {} if known is None else known.list_outputs({step.name for step in steps})
        is_held = known is not None and is_same and (known.is_held or any(each.reason == "settings" for each in due))
        is_known = _is_counted(known)
        self._tell(change, _foresee(kind, is_known=is_known), kind, known, due=due, reason=kind.problem)
        order = VisitOrder(facts, steps, outputs, kind.problem, is_held, is_known, also, not_code=change.not_code)
        if self._table.asks and known is not None and self._table.has_failed(known.states):
            order = msgspec.structs.replace(order, was_failed=True)
        content = facts.sha256.hex() or facts.signature.hex() or new_run_id()
        is_code = kind.role == CODE
        source = decode_source(change.source) if change.source and not kind.problem else None
        return PassItem(
            item_id=change.item_id,
            inputs={**({FILE: source or change.path} if reads_file else {}), **list_needed(order, self._data)},
            identity=hash_strings(change.item_id, content, *(f"{step.name}={step.settings}" for step in steps)),
            cost_hint=estimate_code_chunks(change.size) if is_code else estimate_pages(kind.kind, head, change.size),
            size_hint=_RESULT_BYTES + _RESULT_FACTOR * change.size,
            meta={"order": encode_order(order)},
            batch_key=(source.batch_key if source is not None else "") or kind.kind,
        )


def _is_counted(known: KnownFile | None) -> bool:
    """Whether an earlier run has counted a file."""
    return known is not None and known.is_visited and known.reason != IGNORED


def _foresee(kind: FileKind, *, is_known: bool) -> FileClass:
    """What a file with steps to run is counted as, if they succeed."""
    if kind.problem:
        return "failed"
    return "changed" if is_known else "new"


def _select(
    part: SourcePart, listed: Iterator[ListedFile | ListedMembers], known: Iterator[KnownFile]
) -> tuple[Iterator[ListedFile | ListedMembers], Iterator[KnownFile]]:
    """Return the files that are meant, of those that are there and of those that the library knows."""
    if part.only is None:
        return listed, known
    only = part.only
    return (file for file in listed if file.item_id in only), (row for row in known if row.item_id in only)
