"""Documents read by the converters of docling, which knows more kinds than our readers.

Only converters that need no models are used. Without models docling makes loose lines of a PDF, in no order, so PDFs
stay with our reader. So does plain text, which docling would take for Markdown. What comes out is docling's own
document and its own export; nothing of it is changed but the name of the file.
"""

import json
import logging
from functools import lru_cache
from importlib import import_module
from io import BytesIO
from typing import Any, NamedTuple

from inorder.errors import ReadError

DOCLING_FORMATS = {
    "html": "html",
    "markdown": "md",
    "docx": "docx",
    "pptx": "pptx",
    "xlsx": "xlsx",
    "csv": "csv",
    "asciidoc": "asciidoc",
}
"""The kinds that it converts without models, and what it calls them; each is also an ending that it knows."""
PDF_NOT_CONVERTED = "read by the native reader: docling needs models for PDF"
REASON_CHARACTERS_MAX = 300
_MORE_EXTENSIONS = {"pptx": "pptx", "xlsx": "xlsx", "csv": "csv", "adoc": "asciidoc", "asciidoc": "asciidoc"}
_GENERIC_KINDS = ("binary", "unknown", "text")


class ConvertedDocument(NamedTuple):
    """A document as docling exports it."""

    record: bytes
    doctags: bytes
    pages: int
    blocks: int
    tables: int
    figures: int
    warnings: list[str]


def kind_for_docling(name: str, kind: str) -> str:
    """What a file is where docling reads it: it knows kinds that our readers do not."""
    return _MORE_EXTENSIONS.get(name.rpartition(".")[2].lower(), kind) if kind in _GENERIC_KINDS else kind


def convert(kind: str, data: bytes, name: str, filename: str) -> ConvertedDocument:
    """The document in these bytes. `ReadError` says why there is none."""
    stream = import_module("docling.datamodel.base_models").DocumentStream
    source = stream(name=f"{name}.{DOCLING_FORMATS[kind]}", stream=BytesIO(data))
    try:
        result = _converter().convert(source)
        document = result.document
        document.name = name
        if document.origin is not None:
            document.origin.filename = filename
        record = json.dumps(document.export_to_dict(), ensure_ascii=False, separators=(",", ":"))
        doctags = document.export_to_doctags()
    except MemoryError:
        raise
    except Exception as error:  # its converters raise whatever their libraries do
        raise ReadError(f"docling cannot read it: {_reason(error)}") from None
    return ConvertedDocument(
        record=record.encode("utf-8", "replace"),
        doctags=doctags.encode("utf-8", "replace"),
        pages=len(document.pages),
        blocks=len(document.texts) + len(document.tables) + len(document.pictures),
        tables=len(document.tables),
        figures=len(document.pictures),
        warnings=[_one_line(problem.error_message) for problem in result.errors],
    )


@lru_cache(maxsize=1)
def _converter() -> Any:
    """One for the whole process."""
    formats = import_module("docling.datamodel.base_models").InputFormat
    options = import_module("docling.datamodel.backend_options")
    converters = import_module("docling.document_converter")
    logging.getLogger("docling").setLevel(logging.CRITICAL)  # what it has to say comes with the result
    # By default what stands before the first heading is taken for furniture, and would not be found.
    whole_page = converters.HTMLFormatOption(backend_options=options.HTMLBackendOptions(infer_furniture=False))
    return converters.DocumentConverter(
        allowed_formats=[formats(name) for name in DOCLING_FORMATS.values()],
        format_options={formats.HTML: whole_page},
    )


def _reason(error: BaseException) -> str:
    """What went wrong in the first place: the last error only says that something did."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return _one_line(str(error)) or type(error).__name__


def _one_line(text: str) -> str:
    return " ".join(text.split())[:REASON_CHARACTERS_MAX]
