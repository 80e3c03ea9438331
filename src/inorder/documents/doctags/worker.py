"""What a worker of `doctags` does with one item."""

import hashlib
import os
from pathlib import Path
from typing import Any

import msgspec

from inorder.documents.model import Document, Picture, Table
from inorder.documents.readers.registry import KINDS, reader_of
from inorder.errors import ReadError
from inorder.stage.contracts import Skip, StageError, WorkItem

from .pdf_parts import Survey, pages_in, read_part, read_survey, write

_BYTES_MAX = 2**30


def work(item: WorkItem, context: Any) -> Any:
    """A document, or a step on the way to one."""
    if item.meta["trouble"]:
        raise StageError(item.meta["trouble"], category="input")
    return {"document": _document, "survey": _survey, "part": _part, "merge": _merged}[item.meta["task"]](item, context)


def _document(item: WorkItem, context: Any) -> Any:
    kind = item.meta["kind"]
    if item.meta["reader"] == "docling":
        return _converted(item, context)
    if kind not in KINDS:
        context.remove_outputs()
        return Skip(_NO_DOCUMENT.get(kind, f"not a document ({kind})"))
    data = _content(item)
    return _written(item, context, _read(kind, data, item), data)


_NO_DOCUMENT = {
    "empty": "the file is empty",
    "binary": "not a document: it is no text, and nothing that can be read",
    "unknown": "not a document: text of another kind",
}


def _read(kind: str, data: bytes, item: WorkItem) -> Document:
    try:
        if kind == "pdf":
            from inorder.documents.readers.pdf import reader as pdf

            return pdf.read(data, _name(item), ocr=item.meta["ocr"])
        return reader_of(kind)(data, _name(item))
    except ReadError as error:
        raise StageError(str(error), category="input") from None


def _converted(item: WorkItem, context: Any) -> dict[str, Any]:
    """A document that docling reads and exports."""
    from inorder.documents.readers.docling import convert
    from inorder.files.optional_deps import docling_version

    data = _content(item)
    try:
        found = convert(item.meta["kind"], data, _name(item), os.path.basename(item.item_id))
    except ReadError as error:
        raise StageError(str(error), category="input") from None
    for warning in found.warnings:
        context.warn(warning)
    context.output("record").write_bytes(found.record)
    context.output("doctags").write_bytes(found.doctags)
    return {
        "engine": docling_version().partition(" ")[0],
        "pages": found.pages,
        "pages_without_text": 0,
        "pages_ocr": 0,
        "blocks": found.blocks,
        "tables": found.tables,
        "figures": found.figures,
        "bytes_in": len(data),
        "bytes_out": len(found.record) + len(found.doctags),
    }


def _survey(item: WorkItem, context: Any) -> dict[str, Any]:
    """How long it is and, where it is to be read in parts, what every part must know. A PDF that cannot be read fails
    as a document, not here."""
    from inorder.documents.readers.pdf import reader as pdf

    data = _content(item)
    try:
        survey = Survey(pdf.page_count(data))
        if survey.pages > int(item.meta["split_pages"]):
            survey = Survey(survey.pages, msgspec.Raw(write(pdf.facts(data))))
    except ReadError:
        survey = Survey(0)
    context.output("survey").write_bytes(write(survey))
    return {"pages": survey.pages}


def _part(item: WorkItem, context: Any) -> dict[str, Any]:
    from inorder.documents.readers.pdf import reader as pdf

    doc_id, _, range_ = item.item_id.rpartition("#")
    survey = read_survey(f"{context.data}/{pages_in(doc_id)}/survey.json")
    if survey is None:
        raise StageError("its survey is not there any more; run it again", category="io", retryable=True)
    first, last = (int(number) for number in range_.split("-"))
    facts = msgspec.json.decode(survey.facts, type=pdf.PdfFacts)
    try:
        document = pdf.read(
            _content(item), Path(doc_id).stem, first_page=first, last_page=last, facts=facts, ocr=item.meta["ocr"]
        )
    except ReadError as error:
        raise StageError(str(error), category="input") from None
    context.output("part").write_bytes(write(document))
    return {"pages": len(document.pages), "blocks": len(document.blocks)}


def _merged(item: WorkItem, context: Any) -> dict[str, Any]:
    from inorder.documents.readers.pdf import reader as pdf

    parts = []
    for name in item.meta["parts"]:
        try:
            parts.append(read_part(f"{context.data}/{pages_in(item.item_id)}/{name}.json"))
        except FileNotFoundError:
            pages = name.replace("-", " to ").replace("000", "").lstrip("0")
            raise StageError(f"pages {pages} could not be read; see {item.item_id}#{name}", category="input") from None
    return _written(item, context, pdf.merge(parts), _content(item))


def _content(item: WorkItem) -> bytes:
    path = os.fspath(item.inputs["document"])
    size = os.path.getsize(path)
    if size > _BYTES_MAX:
        raise StageError(f"it has {size} bytes, and at most {_BYTES_MAX} are read", category="input")
    return Path(path).read_bytes()


def _name(item: WorkItem) -> str:
    return Path(item.item_id).stem


def _written(item: WorkItem, context: Any, document: Document, data: bytes) -> dict[str, Any]:
    """The outputs, and what is worth knowing of them."""
    from .storage import write_doctags, write_json

    for warning in filter(None, [item.meta["warning"], *document.warnings]):
        context.warn(warning)
    binary_hash = int.from_bytes(hashlib.sha256(data).digest()[:8], "big")
    written = {
        "record": write_json(document, filename=os.path.basename(item.item_id), binary_hash=binary_hash),
        "doctags": write_doctags(document).encode("utf-8", "replace"),
    }
    for name, content in written.items():
        context.output(name).write_bytes(content)
    return {
        "engine": document.reader,
        "pages": len(document.pages),
        "pages_without_text": sum(not page.has_text and not page.is_ocr for page in document.pages),
        "pages_ocr": sum(page.is_ocr for page in document.pages),
        "blocks": len(document.blocks),
        "tables": sum(isinstance(block, Table) for block in document.blocks),
        "figures": sum(isinstance(block, Picture) for block in document.blocks),
        "bytes_in": len(data),
        "bytes_out": sum(map(len, written.values())),
    }
