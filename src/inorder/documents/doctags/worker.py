"""What a worker of the stage `doctags` does with one item: a document, or a step on the way to a long one."""

import hashlib
import os
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from inorder.documents.inputs import read_input
from inorder.documents.model import Document, Picture, Table
from inorder.documents.readers.passwords import use_passwords
from inorder.documents.readers.registry import READERS, docling_version, load_reader
from inorder.errors import ReadError
from inorder.stage.context import StageContext
from inorder.stage.contracts import Skip, StageError, WorkItem

from .kinds import ANY, NOT_FETCHED, settle_kind
from .storage import (
    PageRange,
    StoredDocument,
    Survey,
    encode,
    pack_document,
    read_part,
    read_survey,
)

IMPORTS = (
    "inorder.documents.readers.markdown.reader",
    "inorder.documents.readers.text",
    "inorder.stage.store.compression",
)
"""What the first items need: the reader of most small files, and what the others share."""
_SKIP_REASONS = {
    "image": "an image: --ocr reads its text",
    "empty": "the file is empty",
    "link": "a link in an archive, which is not followed",
    "special": "not a file: a device or a pipe in an archive",
    "binary": "not a document: a binary file in an unknown format",
    NOT_FETCHED: "not fetched: no reader knows the extension of its name",
    "unknown": "not a document: a text file with an unknown extension, such as source code",
}


def work(item: WorkItem, context: StageContext) -> Any:
    """Process one item. A document that cannot be read raises `StageError` with category `input`."""
    known = predict_outcome(item)
    if known is None:
        item = settle_kind(item)
        known = predict_outcome(item)
    if isinstance(known, StageError):
        raise known
    if known is not None:
        context.remove_outputs()
        return known
    tasks = {"document": _convert, "survey": _make_survey, "part": _convert_part, "merge": _merge_parts}
    try:
        with use_passwords(item.meta["password_file"]):
            return tasks[item.meta["task"]](item, context)
    except ReadError as error:
        raise StageError(str(error), category="input") from None


def predict_outcome(item: WorkItem) -> Skip | StageError | None:
    """The outcome of an item whose file cannot be read, or is not a document; None: it must be read."""
    if item.meta["problem"]:
        return StageError(item.meta["problem"], category="input")
    if "copy_of" in item.meta:
        return Skip(f"the same content as {item.meta['copy_of']}")
    if item.meta["task"] != "document" or item.meta["reader"] == "docling":
        return None
    kind = item.meta["kind"]
    is_read = kind in READERS or (kind == "image" and item.meta["ocr"]) or kind == ANY
    return None if is_read else Skip(_SKIP_REASONS.get(kind, f"not a document ({kind})"))


def _convert(item: WorkItem, context: StageContext) -> Any:
    kind = item.meta["kind"]
    if item.meta["reader"] == "docling":
        return _convert_with_docling(item, context)
    data = read_input(item)
    if kind == "pdf":
        from inorder.documents.readers.pdf import reader as pdf

        document = pdf.read(data, _document_name(item), ocr=item.meta["ocr"], on_page=partial(_report_page, context))
    elif kind == "image":
        from inorder.documents.readers.ocr import image

        document = image.read(data, _document_name(item), partial(_report_page, context))
    elif kind == "html":
        from inorder.documents.readers.html import reader as html

        document = html.read(data, _document_name(item), item.meta["html"])
    else:
        document = load_reader(kind)(data, _document_name(item))
    context.measure(pages=len(document.pages))
    return _write_outputs(item, context, document, data)


def _convert_with_docling(item: WorkItem, context: StageContext) -> dict[str, Any]:
    from inorder.documents.readers.docling import convert

    data = read_input(item)
    converted = convert(item.meta["kind"], data, _document_name(item), os.path.basename(item.item_id))
    for warning in converted.warnings:
        context.warn(warning)
    stored = StoredDocument(record=converted.record, doctags=converted.doctags)
    context.write_output("document", pack_document(stored))
    context.measure(pages=converted.pages)
    return {
        "engine": docling_version().partition(" ")[0],
        "pages": converted.pages,
        "pages_without_text": 0,
        "pages_ocr": 0,
        "blocks": converted.blocks,
        "tables": converted.tables,
        "figures": converted.figures,
        "bytes_in": len(data),
        "bytes_out": len(converted.record) + len(converted.doctags),
    }


def _make_survey(item: WorkItem, context: StageContext) -> dict[str, Any]:
    """Count the pages and, if the PDF is to be read in parts, collect what every part must know. A PDF that cannot be
    read does not fail here: the item of the document fails."""
    from inorder.documents.readers.pdf import reader as pdf

    data = read_input(item)
    try:
        survey = Survey(pdf.count_pages(data))
        if survey.pages > int(item.meta["split_pages"]):
            survey = Survey(survey.pages, msgspec.Raw(encode(pdf.collect_stats(data))))
    except ReadError:
        survey = Survey(0)
    context.write_output("survey", encode(survey))
    return {"pages": survey.pages}


def _convert_part(item: WorkItem, context: StageContext) -> dict[str, Any]:
    from inorder.documents.readers.pdf import reader as pdf

    doc_id, _, range_name = item.item_id.rpartition("#")
    survey = read_survey(os.fspath(context.data), doc_id, item.reads)
    if survey is None:
        raise StageError("the survey of this document is missing from DATA; run again", category="io", retryable=True)
    pages = PageRange.parse(range_name)
    document = pdf.read(
        read_input(item),
        Path(doc_id).stem,
        first_page=pages.first,
        last_page=pages.last,
        stats=pdf.STATS_DECODER.decode(survey.stats),
        ocr=item.meta["ocr"],
        on_page=partial(_report_page, context),
    )
    context.write_output("part", encode(document))
    context.measure(pages=len(document.pages))
    return {"pages": len(document.pages), "blocks": len(document.blocks)}


def _report_page(context: StageContext, number: int, last: int) -> None:
    """Tell which page is being read."""
    context.progress(number, last, "page")


def _merge_parts(item: WorkItem, context: StageContext) -> dict[str, Any]:
    from inorder.documents.readers.pdf import reader as pdf

    parts = []
    for name in item.meta["parts"]:
        part = read_part(os.fspath(context.data), item.item_id, name, item.reads)
        if part is None:
            first, last = PageRange.parse(name)
            reason = f"pages {first} to {last} could not be read; for the reason see {item.item_id}#{name}"
            raise StageError(reason, category="input")
        parts.append(part)
    return _write_outputs(item, context, pdf.merge(parts), read_input(item))


def _document_name(item: WorkItem) -> str:
    return Path(item.item_id).stem


def _write_outputs(item: WorkItem, context: StageContext, document: Document, data: bytes) -> dict[str, Any]:
    """Write a document. Returns the columns of its row in the manifest."""
    for warning in filter(None, [item.meta["warning"], *document.warnings]):
        context.warn(warning)
    binary_hash = int.from_bytes(hashlib.sha256(data).digest()[:8], "big")
    content = pack_document(StoredDocument(os.path.basename(item.item_id), binary_hash, document))
    context.write_output("document", content)
    return {
        "engine": document.reader,
        "pages": len(document.pages),
        "pages_without_text": sum(not page.has_text and not page.is_ocr for page in document.pages),
        "pages_ocr": sum(page.is_ocr for page in document.pages),
        "blocks": len(document.blocks),
        "tables": sum(isinstance(block, Table) for block in document.blocks),
        "figures": sum(isinstance(block, Picture) for block in document.blocks),
        "bytes_in": len(data),
        "bytes_out": len(content),
    }
