"""The stage `doctags`: every document below the sources becomes a `.doctags` and a lossless `.docling.json` beside it.

One document is one item. What cannot be read costs itself: a file that is no document is skipped with the reason, one
that is broken fails with it, and everything else is done.

A long PDF would keep one worker busy when all others have nothing left to do. So the large ones come last, in three
steps with a barrier after each: a *survey* counts the pages and learns what must be known of the whole, *parts* read
some pages each, and the document itself puts the parts together. What comes out is the same, byte for byte.
"""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from inorder.documents.discovery import Found, discover
from inorder.documents.layout import RECORD, TAGS
from inorder.documents.readers.docling import CONVERTED, PDF_STAYS, kind_for_docling
from inorder.documents.readers.registry import KINDS, reader_version
from inorder.documents.readers.sniff import HEAD_BYTES, sniff
from inorder.files.optional_deps import docling_version, ocr_version, require_docling, require_ocr
from inorder.runtime.identity import digest_of
from inorder.stage.contracts import Barrier, Configurable, Stage, StageOptions, StagePlan, WorkItem
from inorder.stage.sources import Roots

from .pdf_parts import pages_in, read_survey
from .worker import work

NAME = "doctags"
SCHEMA_VERSION = 1
_BYTES_PER_COST = 100_000
_LARGE_BYTES = 256 * 1024
"""A PDF below this is not worth a survey."""
_OCR_PAGES_MAX = 10
"""Of a part: a page may take ten seconds to recognise, and an item is given five minutes."""
_TIMEOUT_S = 300.0
_MEMORY_BYTES = 4 * 2**30


class DoctagsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the documents depend on."""

    split_pages: Annotated[int, msgspec.Meta(ge=0)] = 100
    """A PDF with more pages than this is read in parts of as many; 0: never."""
    reader: Literal["native", "docling"] = "native"
    """Who reads what both can read."""
    ocr: bool = False
    """Whether text is recognised in the pictures of pages that have no other."""

    @property
    def part_pages(self) -> int:
        """The pages of a part; 0: there are no parts."""
        return min(self.split_pages, _OCR_PAGES_MAX) if self.ocr else self.split_pages

    def kind_of(self, name: str, kind: str) -> str:
        """What a file is for the reader that reads it, from its name and what it was sniffed to be."""
        return kind_for_docling(name, kind) if self.reader == "docling" else kind

    def reader_of(self, kind: str) -> str:
        """Who reads this kind."""
        return self.reader if kind in CONVERTED else "native"

    def version_of(self, kind: str) -> str:
        """All that a document of this kind depends on besides its file."""
        if self.reader_of(kind) == "docling":
            return f"{kind} {docling_version()}"
        if kind not in KINDS:
            return kind
        return f"{reader_version(kind)} {ocr_version()}" if self.ocr and kind == "pdf" else reader_version(kind)


def make(settings: DoctagsSettings) -> Stage:
    """The stage with these settings."""
    if settings.reader == "docling":
        require_docling()
    if settings.ocr:
        require_ocr()
    return Stage(
        name=NAME,
        plan=partial(plan, settings),
        worker=work,
        options=StageOptions(policy="cpu", timeout_s=_TIMEOUT_S, memory_bytes_max=_MEMORY_BYTES),
    )


stage = Configurable(settings=DoctagsSettings, make=make)


def plan(settings: DoctagsSettings, sources: list[Path], data: Path) -> StagePlan:
    """What lies below the sources. Nothing but the first bytes of a file is read before its turn comes."""
    items = _Items(settings, sources, os.path.abspath(data))
    return StagePlan(NAME, items, retires=items.is_gone, expected_items=sum(1 for _ in items.found()))


class _Items:
    """The items, as often as they are wanted."""

    def __init__(self, settings: DoctagsSettings, sources: list[Path], data: str) -> None:
        self._settings = settings
        self._roots = Roots(sources)
        self._data = data

    def found(self) -> Iterator[Found]:
        """Every file below the sources; DATA may lie among them, and is none of it."""
        return (found for found in discover(self._roots) if not found.path.startswith(f"{self._data}/"))

    def __iter__(self) -> Iterator[WorkItem | Barrier]:
        large = []
        for found in self.found():
            item = _item(found, self._settings)
            if self._settings.part_pages and item.meta["kind"] == "pdf" and found.size >= _LARGE_BYTES:
                large.append(item)
            else:
                yield item
        if large:
            yield from self._in_parts(large)

    def is_gone(self, item_id: str, input_path: str) -> bool:
        """Whether an item that was not found belongs to these sources, or to a file that is not there any more. Other
        documents may have come into DATA from other sources, and stay."""
        return self._roots.has(item_id) or not os.path.lexists(input_path)

    def _in_parts(self, large: list[WorkItem]) -> Iterator[WorkItem | Barrier]:
        for item in large:
            yield _part(item, "survey", "survey", 0.1, str(self._settings.part_pages))
        yield Barrier()
        parted = [(item, self._ranges(item)) for item in large]
        for item, ranges in parted:
            for first, last in ranges:
                yield _part(item, "part", f"{first:06}-{last:06}", float(last - first + 1), "")
        yield Barrier()
        for item, ranges in parted:
            if not ranges:
                yield item
                continue
            meta = {**item.meta, "task": "merge", "parts": [f"{first:06}-{last:06}" for first, last in ranges]}
            reads = [f"{pages_in(item.item_id)}/{name}.json" for name in meta["parts"]]
            yield msgspec.structs.replace(item, meta=meta, cost_hint=float(len(ranges)), reads=reads)

    def _ranges(self, item: WorkItem) -> list[tuple[int, int]]:
        survey = read_survey(f"{self._data}/{pages_in(item.item_id)}/survey.json")
        size = self._settings.part_pages
        if survey is None or survey.pages <= size:
            return []
        return [(first, min(first + size - 1, survey.pages)) for first in range(1, survey.pages + 1, size)]


def _item(found: Found, settings: DoctagsSettings) -> WorkItem:
    """One file. Each has outputs, whether or not it is a document: it may have been one before."""
    trouble, kind = found.trouble, ""
    if not trouble:
        try:
            with open(found.path, "rb") as file:
                kind = settings.kind_of(found.path, sniff(found.path, file.read(HEAD_BYTES)))
        except OSError as error:
            trouble = f"it cannot be read: {error.strerror or error}"
    return WorkItem(
        item_id=found.item_id,
        inputs={} if trouble else {"document": found.path},
        outputs={"doctags": f"{NAME}/{found.item_id}{TAGS}", "record": f"{NAME}/{found.item_id}{RECORD}"},
        cfg_hash=digest_of(NAME, str(SCHEMA_VERSION), settings.version_of(kind)),
        cost_hint=1.0 + found.size / _BYTES_PER_COST,
        meta={
            "task": "document",
            "kind": kind,
            "trouble": trouble,
            "reader": settings.reader_of(kind),
            "ocr": settings.ocr and kind == "pdf",
            "warning": PDF_STAYS if settings.reader == "docling" and kind == "pdf" else "",
        },
        batch_key=kind,
    )


def _part(item: WorkItem, task: str, name: str, cost: float, depends: str) -> WorkItem:
    """A step on the way to a long document."""
    return WorkItem(
        item_id=f"{item.item_id}#{name}",
        inputs=item.inputs,
        outputs={task: f"{pages_in(item.item_id)}/{name}.json"},
        cfg_hash=digest_of(item.cfg_hash, task, depends),
        cost_hint=cost,
        meta={**item.meta, "task": task, "split_pages": depends},
        batch_key="pdf",
        reads=[f"{pages_in(item.item_id)}/survey.json"],
    )
