"""Long PDFs in parts, which many workers read at the same time: a survey, the parts, and the merge.

Each is an item of the plan, and each group waits for the one before it. The merge is the item of the file: it goes on
with the steps after the reader. What surveys and parts have made are rows of the library that go with the merge, so a
run that was interrupted reads no part twice. They are no files: users are told of the file alone.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from inorder.documents.convert import parts
from inorder.documents.convert.parts import PageRange, decode_survey
from inorder.documents.convert.settings import ConvertSettings
from inorder.library.reader import KnownFile, LibraryReader, StepState
from inorder.library.rows import FileIdentity, FileResult
from inorder.runtime.identity import hash_strings
from inorder.stage.contracts import Barrier, PassItem
from inorder.stage.fingerprints import hash_file
from inorder.stage.inputs import AddressedInput

from .names import DOCTAGS
from .sources.addressed import list_results
from .sources.classify import DOCUMENT, PART, FileKind
from .steps import DueStep
from .visit import FILE, PAGES, SURVEY, VisitOrder, decode_order, encode_order, find_survey_id

_SURVEY_COST = 0.1
_PDF = str(FileKind(DOCUMENT, "pdf"))
_PART_OF_PDF = str(FileKind(PART, "pdf"))


class LongDocuments:
    """The long PDFs of a plan."""

    def __init__(
        self, settings: ConvertSettings, library: LibraryReader | None, left: Iterable[KnownFile], data: str
    ) -> None:
        """`left` are the surveys and parts that an earlier run has left."""
        self._settings = settings
        self._data = data
        self._library = library
        self._items: list[PassItem] = []
        self._left: dict[str, dict[str, KnownFile]] = {}
        for row in left:
            self._left.setdefault(row.parent, {})[row.item_id] = row

    def take(self, item: PassItem, size: int) -> bool:
        """Take an item of the plan, if it is a PDF that may be read in parts. Returns whether it was taken. `size` is
        that of the file."""
        if not self._settings.part_pages or self._library is None or FILE not in item.inputs:
            return False
        if size < parts.LARGE_BYTES:
            return False
        order = decode_order(item)
        if order.facts.kind != _PDF or order.steps[0].name != DOCTAGS:
            return False
        self._items.append(item)
        return True

    def make_items(self, add_fact: Callable[[FileResult], None]) -> Iterator[PassItem | Barrier]:
        """Yield the surveys, the parts and the merges. What nobody needs any more is removed by facts."""
        documents = [self._open(item) for item in self._items]
        for rows in self._left.values():
            for item_id in rows:
                add_fact(FileResult(FileIdentity(item_id), is_removed=True))
        if not documents or self._library is None:
            return
        yield from (each.make_survey() for each in documents if not each.has(find_survey_id(each.item_id), SURVEY))
        yield Barrier()
        for each in documents:
            yield from each.make_parts(self._library)
        yield Barrier()
        for each in documents:
            yield each.make_merge(self._library)

    def _open(self, item: PassItem) -> "_LongDocument":
        return _LongDocument(item, self._settings, self._left.pop(item.item_id, {}), self._data)


class _LongDocument:
    """A PDF that may be read in parts."""

    def __init__(self, item: PassItem, settings: ConvertSettings, left: Mapping[str, KnownFile], data: str) -> None:
        self.item_id = item.item_id
        self._data = data
        self._item = item
        self._pages_max = settings.part_pages
        self._settings = settings
        self._order = decode_order(item)
        self._left = {row.item_id: row for row in left.values() if self._is_same(row)}
        self._scratch = dict.fromkeys([*left, find_survey_id(item.item_id)])
        """The ids of all rows that go with the merge."""
        self._survey: bytes = b""
        """The hash of the survey."""
        self._ranges: list[PageRange] = []

    def _is_same(self, row: KnownFile) -> bool:
        """Whether what is left was made of the present content."""
        facts = self._order.facts
        if row.signature and row.signature == facts.signature:
            return True
        source = self._item.inputs[FILE]
        try:
            digest = facts.sha256 or (
                b"" if isinstance(source, AddressedInput) else bytes.fromhex(hash_file(os.fspath(source)))
            )
        except OSError:
            return False
        return bool(digest) and digest == row.sha256

    def has(self, item_id: str, step: str) -> bool:
        """Whether an earlier run has left a survey or a part."""
        row = self._left.get(item_id)
        state = None if row is None else row.states.get(step)
        return state is not None and state.output is not None and state.settings == self._hash_settings(step)

    def _hash_settings(self, step: str) -> str:
        depends = str(self._pages_max) if step == SURVEY else ""
        return hash_strings(self._order.steps[0].settings, step, depends)

    def make_survey(self) -> PassItem:
        """Return the item of the survey."""
        return self._make_item(find_survey_id(self.item_id), SURVEY, _SURVEY_COST)

    def make_parts(self, library: LibraryReader) -> Iterator[PassItem]:
        """Yield the items of the parts; none if the document is short or cannot be read."""
        found = library.read_committed(find_survey_id(self.item_id), SURVEY)
        if found is None:
            return
        self._survey = found.output
        self._ranges = decode_survey(found.content).list_ranges(self._settings)
        for pages in self._ranges:
            if not self.has(self._find_id(pages), PAGES):
                cost = float(pages.last - pages.first + 1)
                yield self._make_item(self._find_id(pages), PAGES, cost, pages.name)

    def _find_id(self, pages: PageRange) -> str:
        return f"{self.item_id}/%{PAGES}-{pages.name}"

    def make_merge(self, library: LibraryReader) -> PassItem:
        """Return the item of the file, which merges its parts."""
        found = {pages: library.get_file(self._find_id(pages)) for pages in self._ranges}
        states = {pages: None if row is None else row.states.get(PAGES) for pages, row in found.items()}
        order = msgspec.structs.replace(
            self._order,
            parts={self._find_id(pages): _get_output(state) for pages, state in states.items()},
            scratch=list(self._scratch | dict.fromkeys(map(self._find_id, self._ranges))),
        )
        failed = next((pages for pages, state in states.items() if not _get_output(state)), None)
        if failed is not None:
            failure = library.find_failure(self._find_id(failed))
            reason, category = ("it was not finished", "io") if failure is None else (failure.message, failure.category)
            problem = f"pages {failed.first} to {failed.last} could not be read: {reason}"
            order = msgspec.structs.replace(order, problem=problem, category=category)
        elif len({state.input for state in states.values() if state is not None}) > 1:
            problem = "the file changed while it was read"
            order = msgspec.structs.replace(order, problem=problem, category="io")
        made_of = next((state.input for state in states.values() if state is not None), b"")
        order = msgspec.structs.replace(order, parts_made_of=made_of)
        cost = float(len(self._ranges)) if self._ranges else self._item.cost_hint
        identity = hash_strings(self._item.identity, *(output.hex() for output in order.parts.values()))
        meta = {"order": encode_order(order)}
        needed = list_results(self._data, {(part, PAGES): output for part, output in order.parts.items() if output})
        inputs = {**self._item.inputs, **needed}
        return msgspec.structs.replace(self._item, inputs=inputs, meta=meta, cost_hint=cost, identity=identity)

    def _make_item(self, item_id: str, step: str, cost: float, pages: str = "") -> PassItem:
        facts = msgspec.structs.replace(
            self._order.facts, item_id=item_id, kind=_PART_OF_PDF, parent=self.item_id, copy_of=""
        )
        settings = self._hash_settings(step)
        outputs = {SURVEY: self._survey} if step == PAGES else {}
        needed = {(find_survey_id(self.item_id), SURVEY): self._survey} if step == PAGES else {}
        steps = [DueStep(step, "", settings)]
        order = VisitOrder(facts, steps, outputs, is_held=True, pages=pages)  # so it is not published, and then goes
        return PassItem(
            item_id=item_id,
            inputs={FILE: self._item.inputs[FILE], **list_results(self._data, needed)},
            identity=hash_strings(self._item.identity, item_id, settings),
            cost_hint=cost,
            size_hint=self._item.size_hint,
            meta={"order": encode_order(order)},
            batch_key=self._item.batch_key,
            part_of=self.item_id,
        )


def _get_output(state: StepState | None) -> bytes:
    return b"" if state is None or state.output is None else state.output
