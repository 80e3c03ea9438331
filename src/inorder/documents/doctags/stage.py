"""The stage `doctags`: every document below the sources becomes a document in the store, without loss.

One document is one item. A file that is not a document is skipped with the reason, a damaged one fails with the reason,
and all others are processed.

A long PDF would keep one worker busy when all others have nothing left to do. So large PDFs come last, in three steps
with a barrier after each: a *survey* counts the pages and collects what must be known of the whole document, *parts*
read some pages each, and the document itself merges the parts. The result is the same, byte for byte.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Annotated

import msgspec

from inorder.documents.archives.discovery import ArchiveExpander
from inorder.documents.convert.kinds import OCR_KINDS, guess_kind, settle_kind
from inorder.documents.convert.parts import LARGE_BYTES, PageRange
from inorder.documents.convert.settings import NAME, VERSION, ConvertSettings, require_readers, settings_of
from inorder.documents.copies import CopyFinder, CopyLog, SizeFilter, find_made_of, may_have_copies
from inorder.documents.cost import estimate_pages
from inorder.documents.discovery import DocumentFile, FileBatch, discover_batches
from inorder.documents.inputs import BYTES_MAX, is_there
from inorder.documents.other_sources import OtherSources
from inorder.documents.readers.passwords import NO_PASSWORDS, read_passwords
from inorder.documents.readers.registry import READERS
from inorder.documents.readers.sniff import HEAD_BYTES, sniff
from inorder.files.heads import read_head
from inorder.runtime.identity import hash_settings, hash_strings, new_run_id
from inorder.sources.fetching import FetchLimits
from inorder.sources.remote_input import RemoteInput
from inorder.stage.contracts import (
    Barrier,
    Configurable,
    Derivation,
    LastRun,
    PlanEdits,
    PredictionRules,
    Skip,
    Stage,
    StageHooks,
    StagePlan,
    WorkItem,
)
from inorder.stage.options import StageOptions
from inorder.stage.sources import Roots
from inorder.stage.store.ahead import announce_work
from inorder.stage.store.database import open_store
from inorder.stage.store.inputs import AddressedInput
from inorder.stage.unchanged.receipt import hash_listing, read_listing
from inorder.version import __version__

from .listing import FileListing, ListingComparison, hash_batch, list_dropped_ids
from .remote import FetcherHooks, count_remote, fetch_remote
from .storage import (
    SURVEY_NAME,
    document_outputs,
    make_part_read,
    name_part,
    read_survey,
)
from .worker import IMPORTS, predict_outcome, work

_TIMEOUT_S = 300.0
_MEMORY_BYTES = 4 * 2**30


class DoctagsSettings(ConvertSettings, frozen=True, kw_only=True):
    """The settings of the step, and of where documents come from and go to."""

    password_file: str = NO_PASSWORDS
    """A file with passwords for encrypted PDFs and office files, one per line; `none`: no passwords."""
    fetch_concurrency: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 16
    """Requests to remote sources at the same time, per worker process."""
    fetch_rate: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Requests per second to remote sources, of all worker processes together; None: no limit."""

    @property
    def fetch_limits(self) -> FetchLimits:
        """The limits of requests to remote sources."""
        return FetchLimits(concurrency=self.fetch_concurrency, rate_per_s=self.fetch_rate)

    @property
    def password_path(self) -> str:
        """The absolute path of the password file, or `none`."""
        return self.password_file if self.password_file == NO_PASSWORDS else os.path.abspath(self.password_file)


def make(settings: DoctagsSettings) -> Stage:
    """The stage with these settings. Raises `OperatorError` if a package that they need is missing."""
    require_readers(settings)
    read_passwords(settings.password_file)
    copies, fetching = CopyLog(), FetcherHooks(settings.fetch_limits)
    return Stage(
        name=NAME,
        plan=partial(plan, settings, copies=copies),
        worker=work,
        finish=copies.write,
        imports=IMPORTS,
        remote=StageHooks(
            worker_setup=fetching.open,
            before_stage=fetching.open,
            after_stage=fetching.close,
            group_size=count_remote,
            before_group=fetch_remote,
        ),
        options=StageOptions(policy="cpu", timeout_s=_TIMEOUT_S, memory_bytes_max=_MEMORY_BYTES),
        prediction=PredictionRules(
            outcome=predict_outcome,
            removes=_list_removed,
            waits_for=_list_awaited,
            changes_with=("input",),  # the record of a document, which `chunk` reads, contains a hash of its file
        ),
    )


stage = Configurable(settings=DoctagsSettings, make=make)


def plan(
    settings: DoctagsSettings, sources: Sequence[str | Path], data: Path, *, copies: CopyLog | None = None
) -> StagePlan:
    """The documents below the sources. Only the first bytes of each file are read here, and nothing of objects."""
    items = _DocumentItems(settings, sources, os.path.abspath(data), copies or CopyLog())
    count, derived = items.survey()
    return StagePlan(
        NAME,
        items,
        retires=items.is_gone,
        expected_items=count,
        is_stored=True,
        derived_from=derived,
    )


class _DocumentItems:
    """The items of the plan. Can be iterated more than once."""

    def __init__(self, settings: DoctagsSettings, sources: Sequence[str | Path], data: str, copies: CopyLog) -> None:
        self._settings = settings
        self._roots = Roots(sources)
        self._data = data
        self._sizes = SizeFilter()
        self._copies = copies
        self._others = OtherSources(data, NAME, self._roots)
        self._archives = ArchiveExpander(f"{data}/cache/archives.sqlite", settings.password_path)
        self._compared: ListingComparison | None = None
        self._listed: FileListing | None = None
        """The files of the items, once all of them are known."""

    def list_files(self) -> Iterator[FileBatch | DocumentFile]:
        """Every file below the sources, except those in DATA, which may lie below them; and files that were copies."""
        listed = discover_batches(self._roots, self._settings.fetch_limits)
        found = (each for each in listed if not each.path.startswith(f"{self._data}/"))
        return self._archives.expand(self._others.add_copies(found))

    def survey(self) -> tuple[int, Derivation]:
        """The number of files, and what the documents depend on. The version is another one in every run as long as a
        file is racy: a change could follow that its stat does not show."""
        settings = msgspec.structs.replace(self._settings, fetch_concurrency=1, fetch_rate=None)
        parts = [NAME, str(VERSION), __version__, repr(settings), repr(self._roots.paths)]
        fixed = hash_strings(*parts, *(_hash_configuration(self._settings, kind) for kind in READERS))
        compared = self._compared = ListingComparison(read_listing(self._data, NAME))
        for found in self.list_files():
            if not compared.add(found):
                announce_work(NAME, partial(compared.has_other_content, self._data, NAME))
            self._sizes.add_files(found)
        compared.finish()
        listing = compared.listing
        return len(listing), Derivation(
            stages=(),
            version=new_run_id() if listing.is_racy else hash_strings(fixed, hash_listing(listing.digests)),
            fixed_version=fixed,
            skips_again=True,
            find_edits=self.find_edits,
            make_listing=lambda: b"" if self._listed is None else self._listed.encode(),
        )

    def find_edits(self, last: LastRun) -> PlanEdits | None:
        """The files that may have changed since the last run; None: they are many, one of them is large or a copy, or a
        folder cannot be read."""
        compared = self._compared
        if compared is None or not compared.follows(last.listing) or not self._roots.are_read:
            return None
        files, dropped = compared.list_unmatched(), compared.list_dropped()
        if dropped is None or (self._settings.part_pages and any(file.size >= LARGE_BYTES for _, file in files)):
            return None
        present = {file.item_id for _, file in files}
        ids = list_dropped_ids(last, dropped, present, open_store(self._data, NAME))
        stored = partial(find_made_of, self._data, NAME, without={*ids, *present})
        changed = [file for _, file in files]
        if may_have_copies(changed, self._sizes, stored, has_others=self._others.has_documents()):
            return None
        self._listed = compared.listing
        return PlanEdits(
            items=((place, item) for (place, _), item in zip(files, map(self._bind_make_item(), changed), strict=True)),
            dropped=dropped,
            gone=[item_id for item_id in ids if item_id not in present],
        )

    def _bind_make_item(self, copies: CopyFinder | None = None) -> Callable[[DocumentFile], WorkItem]:
        hash_of = cache(partial(_hash_configuration, self._settings))
        return partial(_make_item, settings=self._settings, hash_of=hash_of, copies=copies)

    def __iter__(self) -> Iterator[WorkItem | Barrier]:
        large = []
        self._compared = None  # all files are checked, so nothing asks for it any more
        self._listed, listing = None, FileListing()
        with self._others.open_finder(self._sizes) as copies:
            make_item = self._bind_make_item(copies)
            for found in self.list_files():
                for file in found if isinstance(found, FileBatch) else (found,):
                    item = make_item(file)
                    listing.add(file)
                    if self._is_split(item, file):
                        listing.mark_apart()
                        large.append(item)
                    else:
                        yield item
                if isinstance(found, FileBatch):
                    listing.end_batch(len(found), hash_batch(found))
            self._copies.set(copies.found, self._roots, self._others.checked)
        if large:
            yield from self._split(large)
        self._listed = listing

    def _is_split(self, item: WorkItem, file: DocumentFile) -> bool:
        """Whether a document may be read in parts."""
        is_large_pdf = item.meta["kind"] == "pdf" and file.size >= LARGE_BYTES
        return bool(self._settings.part_pages) and is_large_pdf and "copy_of" not in item.meta

    def is_gone(self, item_id: str, input_path: str) -> bool:
        """Whether an item that is not in the plan is to be removed: it lies below these sources, or its file does not
        exist any more. Documents from other sources stay in DATA, and so do those in folders that cannot be read."""
        return not self._roots.may_be_unread(item_id) and (self._roots.has(item_id) or not is_there(input_path))

    def _split(self, large: list[WorkItem]) -> Iterator[WorkItem | Barrier]:
        for item in large:
            yield self._make_step(item, "survey", SURVEY_NAME, 0.1, str(self._settings.part_pages))
        yield Barrier()
        ranges = {item.item_id: self._list_page_ranges(item) for item in large}
        for item in large:
            for pages in ranges[item.item_id]:
                yield self._make_step(item, "part", pages.name, float(pages.last - pages.first + 1), "")
        yield Barrier()
        for item in large:
            names = [pages.name for pages in ranges[item.item_id]]
            if not names:
                yield item
                continue
            meta = {**item.meta, "task": "merge", "parts": names}
            reads = [make_part_read(self._data, item.item_id, name) for name in names]
            yield msgspec.structs.replace(item, meta=meta, cost_hint=float(len(names)), reads=reads)

    def _make_step(self, item: WorkItem, task: str, name: str, cost: float, depends: str) -> WorkItem:
        """A survey or a part of a long document."""
        return WorkItem(
            item_id=f"{item.item_id}#{name}",
            inputs=item.inputs,
            outputs={task: name_part(item.item_id, name)},
            cfg_hash=hash_strings(item.cfg_hash, task, depends),
            cost_hint=cost,
            meta={**item.meta, "task": task, "split_pages": depends},
            batch_key="pdf",
            reads=[make_part_read(self._data, item.item_id, SURVEY_NAME)],
        )

    def _list_page_ranges(self, item: WorkItem) -> list[PageRange]:
        """The parts of a document, from its survey; none if it is short or cannot be read."""
        survey = read_survey(self._data, item.item_id)
        return [] if survey is None else survey.list_ranges(self._settings)


def _list_awaited(item: WorkItem) -> list[str]:
    """The survey that decides whether a document still has this part."""
    if item.meta["task"] != "part":
        return []
    return [name_part(item.item_id.rpartition("#")[0], SURVEY_NAME)]


def _list_removed(item: WorkItem) -> list[str]:
    """The results that a file which is not a document loses."""
    is_skipped = isinstance(predict_outcome(item), Skip)
    return [os.fspath(path) for path in item.outputs.values() if is_skipped]


def _hash_configuration(settings: DoctagsSettings, kind: str) -> str:
    """A hash of everything that a document of this kind depends on, except its file."""
    return hash_settings(NAME, VERSION, settings_of(settings, kind))


def _make_item(
    file: DocumentFile,
    settings: DoctagsSettings,
    hash_of: Callable[[str], str],
    copies: CopyFinder | None,
) -> WorkItem:
    """The item of one file. It has outputs even if the file is not a document now: an earlier version may have been.
    `hash_of` returns the hash of the configuration for a kind of documents."""
    problem, kind, head = file.problem, file.kind, b""
    is_large = file.size > BYTES_MAX
    is_remote = isinstance(file.source, RemoteInput)
    if isinstance(file.source, RemoteInput):
        kind = guess_kind(file.source.path, file.size)
    elif not kind and not problem:
        try:
            head = read_head(file.path, HEAD_BYTES)
            kind = sniff(file.path, head)
        except OSError as error:
            problem = f"the file cannot be read: {error.strerror or error}"
    kind = settle_kind(file.path, kind, settings)
    if is_large and (kind in READERS or kind == "image"):
        problem = f"the file has {file.size:,} bytes; the limit is {BYTES_MAX:,}"
    is_compared = not (problem or is_large or is_remote) and (kind in READERS or (settings.ocr and kind in OCR_KINDS))
    original = copies.find(file, kind, head, hash_of(kind)) if is_compared and copies is not None else ""
    source = AddressedInput(address=file.path, sha256=original, size=file.size) if original else file.source
    return WorkItem(
        item_id=file.item_id,
        inputs={} if problem or is_large else {"document": source or file.path},  # a large file is not even hashed
        outputs=document_outputs(file.item_id),
        cfg_hash=hash_strings(hash_of(kind), original) if original else hash_of(kind),
        cost_hint=estimate_pages(kind, head, file.size),
        meta={
            "task": "document",
            "problem": problem,
            "kind": kind,
            "reader": settings.reader,
            "ocr": settings.ocr,
            "html": settings.html,
            "password_file": settings.password_path,
            **({"copy_of": original} if original else {}),
        },
        batch_key=kind if file.source is None else file.source.batch_key or kind,
    )
