"""Which reader reads which kind of document, and the versions that their results depend on.

Readers and their libraries are imported when the first document of their kind is read. Versions are part of every
fingerprint: the same file may read differently with another release of a library.
"""

import importlib
from collections.abc import Callable
from functools import lru_cache, partial

from inorder.documents.model import Document
from inorder.documents.old_office import CONVERTED
from inorder.errors import OperatorError, ReadError
from inorder.extensions.registry import Plugin, Registry
from inorder.files.optional_deps import require_packages
from inorder.files.package_versions import find_version

READERS: dict[str, tuple[str, str]] = {
    "pdf": ("inorder.documents.readers.pdf.reader", "pypdfium2"),
    "html": ("inorder.documents.readers.html.reader", "selectolax"),
    "markdown": ("inorder.documents.readers.markdown.reader", "pyromark"),
    "docx": ("inorder.documents.readers.docx.reader", ""),
    "pptx": ("inorder.documents.readers.office.pptx", ""),
    "xlsx": ("inorder.documents.readers.office.xlsx", ""),
    "csv": ("inorder.documents.readers.separated_values", "charset-normalizer"),
    "notebook": ("inorder.documents.readers.notebook", "pyromark"),
    "epub": ("inorder.documents.readers.office.epub", "selectolax"),
    "opendocument": ("inorder.documents.readers.office.opendocument", ""),
    "mail": ("inorder.documents.readers.mail", "selectolax"),
    "mailbox": ("inorder.documents.readers.mail:read_mailbox", "selectolax"),
    "rtf": ("inorder.documents.readers.rtf.reader", ""),
    "rst": ("inorder.documents.readers.markup.rst", "charset-normalizer"),
    "asciidoc": ("inorder.documents.readers.markup.asciidoc", "charset-normalizer"),
    "xml": ("inorder.documents.readers.markup.xml", ""),
    "text": ("inorder.documents.readers.text", "charset-normalizer"),
    "subtitles": ("inorder.documents.readers.subtitles", "charset-normalizer"),
    **{kind: (f"inorder.documents.readers.converted.reader:read_{kind}", "docling-rs") for kind in CONVERTED},
}
"""Module of the reader, with its function if that is not `read`, and the package that it depends on; empty: it needs
only the standard library."""
NATIVE, DOCLING = "native", "docling"
NOT_READERS = frozenset(
    (NATIVE, DOCLING, "image", "binary", "unknown", "empty", "link", "special", "any", "not fetched")
)
"""Kinds of files, and values of `--reader`, that cannot be names of plug-ins either."""
KIND = "readers"
TABLE: Registry[tuple[str, str] | Plugin] = Registry(KIND, READERS, lambda plugin: plugin)
"""All readers: those above, and plug-ins."""
PASSWORD_KINDS = frozenset(("docx", "pptx", "xlsx", "epub", "opendocument", *CONVERTED))
"""Kinds whose reader takes passwords as a third argument. That of PDF takes them by name."""
READER_VERSIONS = dict.fromkeys(READERS, 1) | {"pdf": 8, "html": 4, "mail": 2, "mailbox": 2, "rst": 2, "xlsx": 2}
"""Versions of our own heuristics. Raise that of a reader when it reads the same file differently."""

_OCR_PACKAGES = {"rapidocr": "rapidocr", "onnxruntime": "onnxruntime"}
_OCR_VERSION = 2
"""Version of our rules for the layout of recognized lines."""
_IMAGE_VERSION = 1
"""Version of the reader of images, which needs `--ocr`."""
_DOCLING_PACKAGES = {
    "docling": "docling-slim",
    "bs4": "beautifulsoup4",
    "marko": "marko",
    "docx": "python-docx",
    "pptx": "python-pptx",
    "openpyxl": "openpyxl",
}
"""Imported modules, and the package that has each."""


@lru_cache
def load_reader(kind: str) -> Callable[..., Document]:
    """The function `read(data, name)` for this kind. Some have further arguments."""
    found = find_reader(kind)
    if isinstance(found, Plugin):
        return partial(_read_with_plugin, found)
    module, _, function = found[0].partition(":")
    read: Callable[..., Document] = getattr(importlib.import_module(module), function or "read")
    return read


@lru_cache
def reader_version(kind: str) -> str:
    """Version of the reader, and of the package that it depends on."""
    found = find_reader(kind)
    if isinstance(found, Plugin):
        return found.identity
    package = found[1]
    own = f"{kind}/{READER_VERSIONS[kind]}"
    return f"{own} {_package_version(package)}" if package else own


def find_reader(kind: str) -> tuple[str, str] | Plugin:
    """Return the row of a kind. Raises OperatorError if there is none."""
    found = None if kind in NOT_READERS else TABLE.find(kind)
    if found is None:
        raise OperatorError(
            f"no reader is called {kind!r}: it must be {NATIVE}, {DOCLING}, vision:URL#MODEL, the name of a plug-in "
            "(see `inorder plugins`), or module:name"
        )
    return found


def _read_with_plugin(plugin: Plugin, content: bytes, name: str) -> Document:
    document = plugin.load().read(content, name)
    if not isinstance(document, Document):
        raise ReadError(f"the plug-in {plugin} has returned {type(document).__name__}, and not a Document")
    document.reader = plugin.identity
    return document


def _package_version(package: str) -> str:
    return f"{package}/{find_version(package) or 'missing'}"


def require_ocr() -> None:
    """Raise `OperatorError` if a package that `--ocr` needs is missing."""
    require_packages(_OCR_PACKAGES | {"PIL": "pillow"}, by="--ocr", extra="ocr")


def require_vision() -> None:
    """Raise `OperatorError` if a package that `--reader vision:URL#MODEL` needs is missing."""
    require_packages({"PIL": "pillow"}, by="--reader vision", extra="vision")


def require_docling() -> None:
    """Raise `OperatorError` if a package that `--reader docling` needs is missing."""
    require_packages(_DOCLING_PACKAGES, by="--reader docling", extra="docling")


@lru_cache
def ocr_version() -> str:
    """Versions of our layout of recognized text, and of the packages that recognize it."""
    return " ".join((f"ocr/{_OCR_VERSION}", *map(_package_version, _OCR_PACKAGES.values())))


@lru_cache
def image_version() -> str:
    """Version of the reader of images, and of the packages that it depends on."""
    return f"image/{_IMAGE_VERSION} {_package_version('pillow')} {ocr_version()}"


@lru_cache
def docling_version() -> str:
    """Versions of docling's converters and of its exports."""
    return " ".join(map(_package_version, ("docling-slim", "docling-core")))
