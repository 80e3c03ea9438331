"""How a document is read, by its kind; and the kind of a document of a remote source.

A local file is opened to tell its kind. An object is not: its name decides whether it is fetched, and the worker that
has fetched it looks at the first bytes. So an object with an extension that no reader knows is skipped without a
request, and only an object without extension is fetched to see what it is.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from inorder.documents.readers.docling import DOCLING_FORMATS, PDF_NOT_CONVERTED, kind_for_docling
from inorder.documents.readers.registry import READERS
from inorder.documents.readers.sniff import EXTENSIONS, HEAD_BYTES, get_extension, sniff
from inorder.sources.remote_input import RemoteInput, count_group, read_group
from inorder.stage.context import StageContext
from inorder.stage.contracts import WorkItem

OCR_KINDS = ("pdf", "image")
"""What `--ocr` reads."""
ANY = "any"
"""The kind of an object that must be fetched to tell its kind."""
NOT_FETCHED = "not fetched"
"""The kind of an object that is not fetched."""
_IMAGE_EXTENSIONS = frozenset(("png", "jpg", "jpeg", "tif", "tiff", "webp", "bmp"))


def choose_reader(reader: str, ocr: bool, name: str, kind: str) -> dict[str, Any]:
    """How a document with this name and kind is read, as the item has it in `meta`, with the chosen readers."""
    kind = kind_for_docling(name, kind) if reader == "docling" else kind
    return {
        "kind": kind,
        "reader": reader if kind in DOCLING_FORMATS else "native",
        "ocr": ocr and kind in OCR_KINDS,
        "warning": PDF_NOT_CONVERTED if reader == "docling" and kind == "pdf" else "",
    }


def guess_kind(name: str, size: int) -> str:
    """The kind of an object by its name."""
    if size == 0:
        return "empty"
    extension = get_extension(name)
    if extension in _IMAGE_EXTENSIONS:
        return "image"
    kind = EXTENSIONS.get(extension, NOT_FETCHED)
    return (kind if kind in READERS else NOT_FETCHED) if extension else ANY


def settle_kind(item: WorkItem) -> WorkItem:
    """The item of a document with the kind that the first bytes of its object have. The same, if it is not remote."""
    source = _find_remote(item)
    if source is None or item.meta["task"] != "document":
        return item
    reader, ocr = item.meta["choices"]
    settled = choose_reader(reader, ocr, source.path, sniff(source.path, source.read_head(HEAD_BYTES)))
    return msgspec.structs.replace(item, meta={**item.meta, **settled})


def count_remote(items: Sequence[WorkItem]) -> int:
    """How many of these items are fetched at once."""
    return count_group([_find_remote(item) for item in items])


def fetch_remote(items: Sequence[WorkItem], context: StageContext) -> None:
    """Fetch the documents of these items at once."""
    read_group([_find_remote(item) for item in items])


def _find_remote(item: WorkItem) -> RemoteInput | None:
    """The remote document of an item that must be fetched."""
    source = item.inputs.get("document")
    is_fetched = isinstance(source, RemoteInput) and item.meta["kind"] not in (NOT_FETCHED, "empty")
    return source if isinstance(source, RemoteInput) and is_fetched else None
