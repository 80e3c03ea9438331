"""Settings of the step `doctags`, and what its result depends on, part by part."""

import hashlib
from typing import Annotated

import msgspec

from inorder.documents.readers.docling import DOCLING_FORMATS
from inorder.documents.readers.html.extent import Extent
from inorder.documents.readers.plugins import is_plugin_kind, list_extensions, require_plugin
from inorder.documents.readers.registry import (
    DOCLING,
    NATIVE,
    READERS,
    docling_version,
    image_version,
    ocr_version,
    reader_version,
    require_docling,
    require_ocr,
    require_vision,
)
from inorder.documents.readers.vision.prompt import PIXELS, PREFIX, PROMPT, TOKENS, Pages
from inorder.errors import require
from inorder.host.credentials import hide_credentials
from inorder.models.address import parse_address

from .plugin_steps import NO_STEPS, find_steps

NAME = "doctags"
VERSION = 3
"""To be raised whenever the format of a stored document changes."""
ANY = "any"
"""The kind of an object that must be fetched to tell its kind."""
MODEL_KINDS = ("pdf", "image")
"""Kinds of documents whose pages a model can read."""
_OCR_PAGES_MAX = 10
"""Pages per part with OCR: a page may take ten seconds, and an item has five minutes."""


class ConvertSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How documents are converted."""

    split_pages: Annotated[int, msgspec.Meta(ge=0)] = 100
    """A PDF with more pages than this is read in parts of this many pages; 0: never. The result is the same."""
    reader: str = "native"
    """Which readers to use for the kinds that several can read: `native`, `docling`, or the name of a plug-in; or
    `vision:URL#MODEL`: our own, and a model for pages that they cannot read well."""
    pages: Pages = "auto"
    """Which pages the model reads."""
    page_prompt: str = PROMPT
    """What the model is asked."""
    page_pixels: Annotated[int, msgspec.Meta(ge=100, le=4000)] = PIXELS
    """The longer side of the image of a page that the model gets."""
    page_tokens_max: Annotated[int, msgspec.Meta(ge=1)] = TOKENS
    """The longest answer about a page."""
    steps: str = NO_STEPS
    """Plug-ins that change documents, in this order, with commas between them."""
    ocr: bool = False
    """Whether to recognize the text of images, and of PDF pages that have no text layer."""
    html: Extent = "article"
    """How much of an HTML page is read: its article, or everything but hidden elements."""

    def __post_init__(self) -> None:
        if self.model:
            parse_address(hide_credentials(self.model), PREFIX.rstrip(":"))

    @property
    def model(self) -> str:
        """The model that reads pages, as `URL#MODEL`; empty: there is none."""
        return self.reader.removeprefix(PREFIX) if self.reader.startswith(PREFIX) else ""

    @property
    def own_reader(self) -> str:
        """Which readers to use where no model reads."""
        return NATIVE if self.model else self.reader

    @property
    def reads_images(self) -> bool:
        """Whether images are documents."""
        return self.ocr or bool(self.model)

    @property
    def part_pages(self) -> int:
        """Pages per part; 0: no PDF is read in parts."""
        return min(self.split_pages, _OCR_PAGES_MAX) if self.ocr else self.split_pages

    def uses_docling(self, kind: str) -> bool:
        """Whether documents of this kind are converted by docling."""
        return self.reader == "docling" and kind in DOCLING_FORMATS


def require_readers(settings: ConvertSettings) -> None:
    """Raise `OperatorError` if a package that the settings need is missing."""
    if settings.reader == DOCLING:
        require_docling()
    elif settings.model:
        require_vision()
    elif settings.reader != NATIVE:
        list_extensions(require_plugin(settings.reader))
    if settings.ocr:
        require_ocr()
    for plugin in find_steps(settings.steps):
        plugin.load()
        require(settings.reader != DOCLING, f"the step {plugin} cannot change documents that docling has read")


def settings_of(settings: ConvertSettings, kind: str) -> dict[str, str]:
    """Return what a document of this kind depends on besides its file: the value or the version of each part."""
    if kind == ANY:
        return {each: _join(settings_of(settings, each)) for each in [*sorted(READERS), "image"]}
    if settings.uses_docling(kind):
        return {"kind": kind, "reader": docling_version()}
    steps = ", ".join(plugin.identity for plugin in find_steps(settings.steps))
    return _describe_reader(settings, kind) | ({"steps": steps} if steps else {})


def _describe_reader(settings: ConvertSettings, kind: str) -> dict[str, str]:
    if is_plugin_kind(kind, settings.own_reader):
        return {"kind": kind, "reader": reader_version(kind)}
    if kind not in READERS:
        is_read = settings.reads_images and kind == "image"
        return {"kind": kind, "reader": image_version() if is_read else "", **_describe_model(settings, kind)}
    found = {"kind": kind, "reader": reader_version(kind), **_describe_model(settings, kind)}
    if kind == "html":
        found["html"] = settings.html
    if kind == "pdf" and settings.ocr:
        found["ocr"] = ocr_version()
    return found


def _describe_model(settings: ConvertSettings, kind: str) -> dict[str, str]:
    """What pages that a model reads depend on."""
    if not settings.model or kind not in MODEL_KINDS:
        return {}
    prompt = hashlib.sha256(settings.page_prompt.encode()).hexdigest()[:16]
    return {
        "model": settings.model,
        "pages": settings.pages,
        "prompt": prompt,
        "pixels": str(settings.page_pixels),
        "tokens": str(settings.page_tokens_max),
    }


def _join(parts: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in parts.items())
