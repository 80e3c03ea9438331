"""One worker, one file: from the first step that is due to the last, with values in memory.

A visit reads the file once. Each step gets what the step before it has made; if that one is not due, its result is read
from the library. A step whose input turns out to be what its present result was made of does not run.

A step that raises ends the visit. What the steps before it have made is handed over first, so that it is committed with
the failure. Results that took more than a second together are handed over before the next step begins: then a step that
hangs or crashes does not cost them, and the next attempt goes on after them.
"""

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import msgspec

from inorder.documents.convert.page_names import name_pages
from inorder.documents.convert.settings import MODEL_KINDS
from inorder.documents.inputs import read_content_of
from inorder.errors import ReadError
from inorder.files.surrogates import escape_fields, restore_fields
from inorder.library.rows import (
    HASH_BYTES,
    FileIdentity,
    FileResult,
    SearchRows,
    StepResult,
    decode_result,
    encode_result,
    escape_path,
    make_step_result,
    pack_rows,
    read_step_content,
    read_step_texts,
    restore_path,
)
from inorder.library.values import pack_chunk_rows, pack_vectors, unpack_chunk_rows
from inorder.sources.remote_input import RemoteInput
from inorder.stage.context import StageContext
from inorder.stage.contracts import StageError, WorkItem
from inorder.stage.data_layout import DataLayout
from inorder.stage.inputs import AddressedInput

from .due import mark_lacking
from .names import CHUNK, DOCTAGS, EMBED, EXTRACT, INDEX
from .sources.addressed import ResultInput, list_results, name_result
from .sources.classify import CODE, DOCUMENT, HEAD_BYTES, FileKind, classify_file
from .sources.walk import pack_signature
from .steps import DueStep, PipelineSettings, StepTable

if TYPE_CHECKING:
    from inorder.documents.chunk.chunks import Chunk
    from inorder.documents.convert.step import Converted
    from inorder.documents.convert.stored import StoredDocument
    from inorder.documents.readers.vision.answers import PageAnswers

    from .resources import VisitResources

_REASONS_MAX = 5
HANDED_OVER_S = 1.0
"""Results that took longer than this together are handed over before the next step begins."""
FILE, RESOURCES = "file", "resources"
"""The name of the input of an item, and of the resources of a worker."""
SURVEY, PAGES = "survey", "pages"
"""The steps of a long PDF that is read in parts: see `parts`."""


class VisitOrder(msgspec.Struct, array_like=True, frozen=True):
    """What is to be done with a file, as the plan says it."""

    facts: FileIdentity
    steps: list[DueStep]
    outputs: dict[str, bytes] = {}
    """The hashes of the results of steps that are not due."""
    problem: str = ""
    """Why the file cannot be read; empty if no reason is known."""
    is_held: bool = False
    is_known: bool = False
    """Whether the library knew the file before."""
    also: list[FileResult] = []
    """What happens to other files in the same transaction: a file that this one was renamed from, or its copies."""
    category: str = "input"
    """Of the problem."""
    pages: str = ""
    """The name of the pages that are read, if this is a part of a long PDF."""
    parts: dict[str, bytes] = {}
    """The parts that a long PDF is merged of: their ids, and the hashes of their results."""
    parts_made_of: bytes = b""
    """The hash of the content that they were made of."""
    scratch: list[str] = []
    """The ids of the rows that go with the merge."""
    not_code: str = ""
    """Why the file is not read as source code; empty: the rules admit it."""
    problems: dict[int, str] = {}
    """Why a model has given no answer about units that it was asked about, such as pages, by number."""
    was_failed: bool = False
    """Whether an earlier pass of this run has counted the file as failed."""

    @property
    def is_part(self) -> bool:
        """Whether this is no file, but the survey or a part of a long PDF."""
        return self.steps[0].name in (SURVEY, PAGES)


_ENCODER = msgspec.msgpack.Encoder()
_ORDERS = msgspec.msgpack.Decoder(VisitOrder)


def encode_order(order: VisitOrder) -> bytes:
    """Encode what is to be done with a file."""
    try:
        return _ENCODER.encode(order)
    except UnicodeEncodeError:
        facts, also = escape_fields(order.facts), [escape_path(each) for each in order.also]
        return _ENCODER.encode(msgspec.structs.replace(order, facts=facts, also=also))


def decode_order(item: WorkItem) -> VisitOrder:
    """Return what the plan says of an item."""
    order = _ORDERS.decode(item.meta["order"])
    for each in order.also:
        restore_path(each)
    facts = restore_fields(order.facts, order.facts.path)
    return order if facts is order.facts else msgspec.structs.replace(order, facts=facts)


def list_needed(order: VisitOrder, data: str) -> dict[str, ResultInput]:
    """Return the results of the library that a visit may need: those that its steps read, and that it does not make."""
    kept = {**order.outputs, **{step.name: step.output for step in order.steps if step.made_of}}
    item_id = order.facts.item_id
    return list_results(data, {(item_id, step.reads): kept[step.reads] for step in order.steps if step.reads in kept})


def read_result(item: WorkItem, item_id: str, step: str, resources: "VisitResources") -> tuple[bytes, Sequence[str]]:
    """Return the content and the texts of a result that an item reads. Raises StageError if it is not the one that the
    plan has seen."""
    source = item.inputs[name_result(item_id, step)]
    return resources.read_result(cast("ResultInput", source))


def describe_problems(problems: Mapping[int, str], noun: str, what: str) -> str:
    """Return which parts of a file a model has no answer for, such as pages, and why, in one line."""
    by_reason: dict[str, list[int]] = {}
    for page, problem in sorted(problems.items()):
        by_reason.setdefault(" ".join(problem.split()), []).append(page)
    reasons = [f"{name_pages(pages)} ({reason})" for reason, pages in by_reason.items()]
    nouns = noun if len(problems) == 1 else f"{noun}s"
    more = f" and {len(reasons) - _REASONS_MAX} more reasons" if len(reasons) > _REASONS_MAX else ""
    return f"not {what} by the model: {nouns} {', '.join(reasons[:_REASONS_MAX])}{more}"


def find_survey_id(item_id: str) -> str:
    """Return the id of the survey of a long PDF. No file has such an id: there, `%` is followed by two digits."""
    return f"{item_id}/%{SURVEY}"


def visit(settings: PipelineSettings, item: WorkItem, context: StageContext) -> None:
    """Take one file through its steps. The worker of the pipeline."""
    running = _Visit(settings, item, context)
    running.run()
    context.deliver(encode_result(running.result))


class _Visit:
    """A file on its way through the steps."""

    def __init__(self, settings: PipelineSettings, item: WorkItem, context: StageContext) -> None:
        self._settings = settings
        self._item = item
        self._context = context
        self._order = decode_order(item)
        self._resources: VisitResources = context.resources[RESOURCES]
        self._kind = FileKind.parse(self._order.facts.kind)
        self.result = FileResult(self._order.facts, is_held=self._order.is_held)
        self._steps = self._order.steps
        self._outputs: dict[str, bytes] = dict(self._order.outputs)
        """The hashes of the present results of steps."""
        self._adopted: set[str] = set()
        """Steps that an earlier attempt has run."""
        self._unsaved_s = 0.0
        self._document: StoredDocument | None = None
        self._chunks: list[Chunk] | None = None
        if isinstance(context.partial, bytes):
            self._adopt(decode_result(context.partial))

    def _adopt(self, partial: FileResult) -> None:
        """Go on after what an earlier attempt has handed over, if it was made of the same file in the same way."""
        settings = {step.name: step.settings for step in self._order.steps}
        digest = hashlib.sha256(self._content).digest() if FILE in self._item.inputs else self._order.facts.sha256
        is_same = partial.file.sha256 == digest
        if is_same and all(settings.get(step.step) == step.settings for step in partial.steps):
            self.result.steps, self.result.rows = partial.steps, partial.rows
            self._outputs.update({step.step: step.output for step in partial.steps})
            self._adopted = {step.step for step in partial.steps}

    def run(self) -> None:
        """Run the steps that are due."""
        if self._order.problem:
            self._context.begin_step(self._order.steps[0].name)
            raise StageError(self._order.problem, category=self._order.category)
        begun = ""
        if any(not step.reads for step in self._steps):
            begun = self._begin(self._steps[0])
            if not self._settle_kind():
                return
            try:
                self._describe_file()
            except StageError:
                self._hand_over()
                raise
        for step in self._steps:
            if step.name in self._adopted:
                continue
            input_hash = self._find_input_hash(step)
            if step.made_of and step.made_of == input_hash:
                self._outputs[step.name] = step.output
                continue
            if self._unsaved_s > HANDED_OVER_S:
                self._hand_over()
            if step.name != begun:
                self._begin(step)
            began_s = time.perf_counter()
            try:
                made = self._run_step(step, input_hash)
            except Exception as error:
                self._hand_over()
                if isinstance(error, ReadError):
                    raise StageError(str(error), category="input") from None
                raise
            made.duration_ms = round((time.perf_counter() - began_s) * 1000, 3)
            self._unsaved_s += made.duration_ms / 1000
            self.result.steps.append(made)
            self._outputs[step.name] = made.output
        if self._order.problems:
            self._begin(self._steps[0])
            self._hand_over()
            raise StageError(self._describe_problems(), category="provider")

    def _begin(self, step: DueStep) -> str:
        """Say that a step begins. Returns its name."""
        limits_s = self._settings.timeouts_s
        self._context.begin_step(step.name, limits_s.get(step.name, limits_s.get(step.name.partition(":")[0])))
        return step.name

    def _describe_problems(self) -> str:
        """Which parts of the file the model of this pass has no answer for, and why."""
        is_extracted = self._steps[0].name == self._settings.extract.step
        noun, what = (self._settings.extract.over, "answered") if is_extracted else ("page", "read")
        return describe_problems(self._order.problems, noun, what)

    def _settle_kind(self) -> bool:
        """Look at the first bytes of an object, of which the plan has seen only the name. Returns whether it is
        read."""
        source = self._item.inputs[FILE]
        if not isinstance(source, RemoteInput) or self._order.is_part:
            return True
        head = source.fetch_head(self._resources.fetcher, HEAD_BYTES)
        is_document, not_code = self._kind.role == DOCUMENT, self._order.not_code
        self._kind = classify_file(
            source.path, head, source.size, self._settings.convert, is_document=is_document, not_code=not_code
        )
        facts = self._order.facts
        self.result.file = msgspec.structs.replace(facts, kind=str(self._kind), reason=self._kind.reason)
        if self._kind.role:
            found = {step.name: step for step in StepTable(self._settings).list_steps(self._kind)}
            self._steps = [
                msgspec.structs.replace(step, settings=found[step.name].settings, reads=found[step.name].reads)
                for step in self._steps
                if step.name in found
            ]
        return bool(self._kind.role)

    def _hand_over(self) -> None:
        """Hand over what the file is, and what was made of it so far."""
        self._context.hand_over(encode_result(self.result))
        self._unsaved_s = 0.0

    # ---- Inputs

    @cached_property
    def _content(self) -> bytes:
        """The bytes of the file."""
        source = self._item.inputs[FILE]
        return read_content_of(source, self._resources.fetcher if isinstance(source, RemoteInput) else None)

    def _describe_file(self) -> None:
        """Note what was read: it may be newer than what the plan has seen."""
        source = self._item.inputs[FILE]
        facts = self.result.file
        if isinstance(source, AddressedInput):
            digest = hashlib.sha256(self._content).digest()
            self.result.file = msgspec.structs.replace(facts, sha256=digest, size=len(self._content))
            return
        content = self._content
        digest = hashlib.sha256(content).digest()
        signature = pack_signature(self._context.stats[FILE])
        self.result.file = msgspec.structs.replace(facts, sha256=digest, size=len(content), signature=signature)

    def _find_input_hash(self, step: DueStep) -> bytes:
        """The hash of what a step reads."""
        if not step.reads:
            return self.result.file.sha256[:HASH_BYTES]
        return self._outputs[step.reads]

    def _get_document(self) -> "StoredDocument":
        if self._document is None:
            from inorder.documents.convert.stored import unpack_document

            self._document = unpack_document(self._read_result(DOCTAGS)[0])
        return self._document

    def _get_chunks(self) -> "list[Chunk]":
        if self._chunks is None:
            self._chunks = unpack_chunk_rows(self._item.item_id, *self._read_result(CHUNK))
        return self._chunks

    def _read_result(self, step: str) -> tuple[bytes, Sequence[str]]:
        """The content and the texts of a result: of this visit, handed over by an earlier one, or of the library."""
        for made in self.result.steps:
            if made.step == step:
                return read_step_content(made), read_step_texts(made)
        return self._read_stored(self._item.item_id, step)

    def _read_stored(self, item_id: str, step: str) -> tuple[bytes, Sequence[str]]:
        """The content and the texts of a result that is committed."""
        return read_result(self._item, item_id, step, self._resources)

    # ---- Steps

    def _run_step(self, step: DueStep, input_hash: bytes) -> StepResult:
        if step.name == INDEX:
            return self._index(step, input_hash)
        if step.name == DOCTAGS:
            return self._convert(step, input_hash)
        if step.name == CHUNK:
            return self._chunk(step, input_hash)
        if step.name in (SURVEY, PAGES):
            return self._read_part(step, input_hash)
        if step.name.startswith(f"{EXTRACT}:"):
            return self._extract(step, input_hash)
        return self._embed(step, input_hash, step.name.removeprefix(f"{EMBED}:"))

    def _convert(self, step: DueStep, input_hash: bytes) -> StepResult:
        from inorder.documents.convert.step import convert

        if self._order.parts:
            made = self._merge_parts(input_hash)
        else:
            made = convert(
                self._content,
                self._item.item_id,
                self._kind.kind,
                self._settings.convert,
                self._resources.convert,
                self._report_page,
                self._find_answers(),
            )
        self._document = made.document
        self._warn(made.warnings)
        if not self._order.parts:  # which have counted their pages
            self._context.measure(pages=made.extras["pages"])
        if made.lacks_answers:
            input_hash = mark_lacking(input_hash)
        return make_step_result(step.name, step.settings, input_hash, made.content, extras=made.extras)

    def _find_answers(self) -> "PageAnswers | None":
        """What a model has answered about the pages of the file; None: no model reads them."""
        settings = self._settings.convert
        if not settings.model or self._kind.kind not in MODEL_KINDS:
            return None
        from inorder.documents.convert.questions import find_answers

        path = self._settings.find_answers_file(os.fspath(self._context.data))
        return find_answers(settings, self.result.file.sha256, path, self._order.problems)

    def _report_page(self, number: int, last: int) -> None:
        self._context.progress(number, last, "page")

    def _merge_parts(self, input_hash: bytes) -> "Converted":
        """Merge the parts of a long PDF."""
        from inorder.documents.convert.parts import decode_part, merge

        if input_hash != self._order.parts_made_of:
            raise StageError("the file changed while it was read", category="io")
        found = [decode_part(self._read_stored(part, PAGES)[0]) for part in self._order.parts]
        return merge(self._content, self._item.item_id, found, self._settings.convert)

    def _read_part(self, step: DueStep, input_hash: bytes) -> StepResult:
        """Survey a long PDF, or read a part of it."""
        from inorder.documents.convert.parts import PageRange, convert_part, decode_survey, encode_part, survey

        settings, resources = self._settings.convert, self._resources.convert
        if step.name == SURVEY:
            content = encode_part(survey(self._content, settings, resources))
        else:
            parent = self._order.facts.parent
            surveyed = self._read_stored(find_survey_id(parent), SURVEY)[0]
            pages = PageRange.parse(self._order.pages)
            document = decode_survey(surveyed)
            answers = self._find_answers()
            part = convert_part(self._content, parent, document, pages, settings, resources, self._report_page, answers)
            self._context.measure(pages=len(part.pages))
            content = encode_part(part)
        return make_step_result(step.name, step.settings, input_hash, content)

    def _chunk(self, step: DueStep, input_hash: bytes) -> StepResult:
        from inorder.documents.chunk.step import NO_TEXT, chunk, summarize

        document = self._get_document()
        chunks = chunk(self._item.item_id, document, self._settings.chunk, self._resources.count_tokens)
        self._chunks = chunks
        if not chunks:
            self._warn([NO_TEXT])
        self._context.measure(chunks=len(chunks), tokens=sum(each.tokens for each in chunks))
        rows, texts = pack_chunk_rows(chunks)
        return make_step_result(step.name, step.settings, input_hash, rows, texts=texts, extras=summarize(chunks))

    def _index(self, step: DueStep, input_hash: bytes) -> StepResult:
        if self._kind.role == CODE:
            rows, counts = self._make_code_rows()
        else:
            rows, counts = self._make_document_rows()
        self.result.rows = rows
        return StepResult(step.name, step.settings, input_hash, bytes.fromhex(rows.digest), extras=counts)

    def _make_document_rows(self) -> tuple[SearchRows, dict[str, Any]]:
        from inorder.index.step import make_document_rows

        chunks = self._get_chunks()
        with self._mark_parsing(any(chunk.code for chunk in chunks)) as uses_grammar:
            rows = make_document_rows(self._item.item_id, chunks, uses_grammar=uses_grammar)
        self._warn([rows.note] if rows.note else [])
        return pack_rows(rows), {"language": rows.language, "chunks": len(rows.chunks)}

    def _mark_parsing(self, is_parsed: bool) -> AbstractContextManager[bool]:
        """Mark the file while it is parsed. Yields whether to use grammars. The end of a worker says nothing of a file
        that is not parsed."""
        if not is_parsed:
            return nullcontext(True)
        staging = DataLayout(os.fspath(self._context.data), self._context.stage).staging
        return self._resources.mark_parsing(self._item.item_id, staging)

    def _make_code_rows(self) -> tuple[SearchRows, dict[str, Any]]:
        from inorder.index.step import make_code_rows

        item_id, path = self._item.item_id, self._order.facts.path
        with self._mark_parsing(bool(self._kind.kind)) as uses_grammar:
            rows = make_code_rows(item_id, path, self._content, uses_grammar=uses_grammar)
        self._warn([rows.note] if rows.note else [])
        self._context.measure(lines=rows.lines, chunks=len(rows.chunks))
        counts = {
            "language": rows.language,
            "lines": rows.lines,
            "chunks": len(rows.chunks),
            "symbols": len(rows.symbols),
            "calls": len(rows.calls),
        }
        return pack_rows(rows), counts

    def _embed(self, step: DueStep, input_hash: bytes, family: str) -> StepResult:
        from inorder.documents.embed.step import describe_call, embed

        provider, spec = self._resources.open_provider(family)
        chunks = self._get_chunks()
        vectors, provider_ms = self._resources.embedded.pop((self._item.item_id, family), (None, 0.0))
        if vectors is None:
            began_s = time.perf_counter()
            vectors = embed(family, [each.text for each in chunks], provider)
            provider_ms = (time.perf_counter() - began_s) * 1000
        made = pack_vectors(family, step.settings, input_hash, vectors, provider, spec)
        self._context.measure(**describe_call(spec, provider, len(chunks), made.extras["norms"], provider_ms))
        return made

    def _extract(self, step: DueStep, input_hash: bytes) -> StepResult:
        from inorder.documents.extract.rows import extract
        from inorder.documents.extract.units import list_blocks, list_chunks

        is_chunks = step.reads == CHUNK
        made = extract(
            self._item.item_id,
            list_chunks(self._get_chunks()) if is_chunks else list_blocks(self._get_document()),
            self.result.file.sha256,
            input_hash,
            self._settings.extract,
            self._settings.find_answers_file(os.fspath(self._context.data)),
            self._order.problems,
        )
        if made.lacks_answers:
            input_hash = mark_lacking(input_hash)
        return make_step_result(step.name, step.settings, input_hash, made.content, extras=made.extras)

    def _warn(self, warnings: Sequence[str]) -> None:
        for warning in warnings:
            self._context.warn(warning)
