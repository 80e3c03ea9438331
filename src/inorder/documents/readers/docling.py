"""Reads documents with the converters of docling, which knows more formats than our readers.

Only converters that need no models are used. Without models docling reads a PDF as loose lines without order, so our
reader reads PDFs. It also reads plain text, which docling would take for Markdown. The results are docling's own
document and its own DocTags; only the name of the file is changed.
"""

import json
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
"""Kinds that docling converts without models, and its names for them. Each name is also a file extension it knows."""
PDF_NOT_CONVERTED = "read by the native reader, because docling needs models for PDF"
REASON_CHARACTERS_MAX = 300
_MORE_EXTENSIONS = {"pptx": "pptx", "xlsx": "xlsx", "csv": "csv", "adoc": "asciidoc", "asciidoc": "asciidoc"}
_GENERIC_KINDS = ("binary", "unknown", "text")


class ConvertedDocument(NamedTuple):
    """A document as docling exports it, with counts for the manifest."""

    record: bytes
    doctags: bytes
    pages: int
    blocks: int
    tables: int
    figures: int
    warnings: list[str]


def kind_for_docling(name: str, kind: str) -> str:
    """The kind of a file if docling reads it. Docling knows kinds that our readers do not."""
    return _MORE_EXTENSIONS.get(name.rpartition(".")[2].lower(), kind) if kind in _GENERIC_KINDS else kind


class DoclingConverter:
    """Converts documents with docling. Its converter is made with the first document: that takes seconds."""

    def __init__(self) -> None:
        self._converter: Any = None

    def convert(self, kind: str, data: bytes, name: str, filename: str) -> ConvertedDocument:
        """Convert a document. Raises `ReadError` with the reason if docling cannot read it."""
        stream = import_module("docling.datamodel.base_models").DocumentStream
        source = stream(name=f"{name}.{DOCLING_FORMATS[kind]}", stream=BytesIO(data))
        try:
            if self._converter is None:
                self._converter = _make_converter()
            result = self._converter.convert(source)
            document = result.document
            document.name = name
            if document.origin is not None:
                document.origin.filename = filename
            record = json.dumps(document.export_to_dict(), ensure_ascii=False, separators=(",", ":"))
            doctags = document.export_to_doctags()
        except MemoryError:
            raise
        except Exception as error:  # converters raise any exception of their libraries
            raise ReadError(f"docling cannot read the file: {_describe_root_cause(error)}") from None
        return ConvertedDocument(
            record=record.encode("utf-8", "replace"),
            doctags=doctags.encode("utf-8", "replace"),
            pages=len(document.pages),
            blocks=len(document.texts) + len(document.tables) + len(document.pictures),
            tables=len(document.tables),
            figures=len(document.pictures),
            warnings=[_to_one_line(problem.error_message) for problem in result.errors],
        )


def _make_converter() -> Any:
    formats = import_module("docling.datamodel.base_models").InputFormat
    options = import_module("docling.datamodel.backend_options")
    converters = import_module("docling.document_converter")
    import logging

    logging.getLogger("docling").setLevel(logging.CRITICAL)  # errors are part of the result
    # By default docling takes text before the first heading for furniture, and it would not be searchable.
    html_options = converters.HTMLFormatOption(backend_options=options.HTMLBackendOptions(infer_furniture=False))
    return converters.DocumentConverter(
        allowed_formats=[formats(name) for name in DOCLING_FORMATS.values()],
        format_options={formats.HTML: html_options},
    )


def _describe_root_cause(error: BaseException) -> str:
    """The message of the first error in the chain: the last one only says that the conversion failed."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return _to_one_line(str(error)) or type(error).__name__


def _to_one_line(text: str) -> str:
    return " ".join(text.split())[:REASON_CHARACTERS_MAX]
