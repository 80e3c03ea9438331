"""The kind of a file, which decides how it is read, and why a file of some kind is not read.

A local file is opened to tell its kind. An object of a remote source is not: its name decides whether it is fetched,
and who has fetched it looks at the first bytes. So an object with an extension that no reader knows costs no request,
and only an object without extension is fetched to see what it is.
"""

from inorder.documents.old_office import EXTRA, lacks_extra
from inorder.documents.readers.docling import DOCLING_FORMATS, kind_for_docling
from inorder.documents.readers.plugins import find_installed, find_named, is_plugin_kind
from inorder.documents.readers.registry import READERS
from inorder.documents.readers.sniff import EXTENSIONS, get_extension, sniff

from .settings import ANY, ConvertSettings

NOT_FETCHED = "not fetched"
"""The kind of an object that is not fetched."""
NEEDS_EXTRA = f"needs the extra {EXTRA}: pip install 'inorder[{EXTRA}]'"
"""Why a file of an old or rare format is not read."""
_IMAGE_EXTENSIONS = frozenset(("png", "jpg", "jpeg", "tif", "tiff", "webp", "bmp"))
_CERTAIN = ("image", "empty", "link", "special")
_REASONS = {
    "image": "an image: --ocr reads its text",
    "empty": "the file is empty",
    "link": "a link in an archive, which is not followed",
    "special": "not a file: a device or a pipe in an archive",
    "binary": "not a document: a binary file in an unknown format",
    NOT_FETCHED: "not fetched: no reader knows the extension of its name",
    "unknown": "not a document: a text file with an unknown extension, such as source code",
}


def find_kind(name: str, head: bytes, settings: ConvertSettings) -> str:
    """Return the kind of a file with this name and these first bytes (`sniff.HEAD_BYTES` of them)."""
    return settle_kind(name, sniff(name, head), settings)


def settle_kind(name: str, kind: str, settings: ConvertSettings) -> str:
    """Return the kind as which a file is read. Docling, and a plug-in that is named, read kinds that our readers take
    for something else."""
    return (
        kind_for_docling(name, kind) if settings.reader == "docling" else find_named(name, settings.own_reader) or kind
    )


def settle_unknown(name: str, kind: str, settings: ConvertSettings) -> str:
    """Return the kind as which a file is read that nothing built in reads: the name of an installed plug-in, if one
    reads its type. What a plug-in read that is gone, or not named any more, is `unknown` again."""
    is_built_in = (kind in READERS and not lacks_extra(kind)) or kind in DOCLING_FORMATS
    if is_built_in or kind in _CERTAIN or kind == find_named(name, settings.own_reader):
        return kind
    return find_installed(name) or (kind if kind in _REASONS or kind in READERS or kind == ANY else "unknown")


def guess_kind(name: str, size: int) -> str:
    """Return the kind of an object by its name and size."""
    if size == 0:
        return "empty"
    extension = get_extension(name)
    if extension in _IMAGE_EXTENSIONS:
        return "image"
    kind = EXTENSIONS.get(extension, NOT_FETCHED)
    return (kind if kind in READERS else NOT_FETCHED) if extension else ANY


def find_reason_not_read(kind: str, settings: ConvertSettings) -> str:
    """Return why files of this kind are not read; empty: they are."""
    if lacks_extra(kind):
        return NEEDS_EXTRA
    is_read = (
        kind in READERS or (kind == "image" and settings.reads_images) or kind == ANY or settings.uses_docling(kind)
    )
    if is_read or (kind not in _REASONS and is_plugin_kind(kind, settings.own_reader)):
        return ""
    return _REASONS.get(kind, f"not a document ({kind})")
