"""What plug-ins are made of. These are the public names for authors of plug-ins.

A plug-in is an object of another package. It is named as `module:name`, or has an entry point of the group
`inorder.readers`, `.providers`, `.rerankers`, `.sources`, `.targets` or `.steps`; `inorder plugins` lists those.
`inorder.testing` has rules to test one with.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from inorder.documents.model import (
    Cell,
    Code,
    Document,
    Formula,
    Furniture,
    Heading,
    ListItem,
    Page,
    Paragraph,
    Picture,
    Table,
    Title,
)
from inorder.errors import ReadError
from inorder.lazy_names import make_getattr

if TYPE_CHECKING:
    from inorder.documents.convert.plugin_steps import StepPlugin
    from inorder.documents.embed.providers.base import DenseProvider, SparseProvider
    from inorder.documents.embed.providers.cross_encoder import Reranker
    from inorder.sinks.base import Position
    from inorder.sources.protocols import SourcePlugin
    from inorder.targets.base import (
        ExportedChunk,
        ExportedDocument,
        ListedDocument,
        Target,
        TargetChanges,
        TargetLayout,
        TargetOptions,
        decode_document,
        encode_document,
    )

__all__ = [
    "Cell",
    "Code",
    "DenseProvider",
    "Document",
    "ExportedChunk",
    "ExportedDocument",
    "Formula",
    "Furniture",
    "Heading",
    "ListItem",
    "ListedDocument",
    "Page",
    "Paragraph",
    "Picture",
    "Position",
    "ReadError",
    "Reader",
    "Reranker",
    "SourcePlugin",
    "SparseProvider",
    "StepPlugin",
    "Table",
    "Target",
    "TargetChanges",
    "TargetLayout",
    "TargetOptions",
    "Title",
    "decode_document",
    "encode_document",
]

_TARGETS = "inorder.targets.base"
_MODULE_OF = {
    "DenseProvider": "inorder.documents.embed.providers.base",
    "SparseProvider": "inorder.documents.embed.providers.base",
    "Reranker": "inorder.documents.embed.providers.cross_encoder",
    "StepPlugin": "inorder.documents.convert.plugin_steps",
    "SourcePlugin": "inorder.sources.protocols",
    "Position": "inorder.sinks.base",
    "ExportedChunk": _TARGETS,
    "ExportedDocument": _TARGETS,
    "ListedDocument": _TARGETS,
    "Target": _TARGETS,
    "TargetChanges": _TARGETS,
    "TargetLayout": _TARGETS,
    "TargetOptions": _TARGETS,
    "decode_document": _TARGETS,
    "encode_document": _TARGETS,
}
"""Names that are imported on first use: a reader needs no package for numbers."""


@runtime_checkable
class Reader(Protocol):
    """Reads files of some types. A plug-in of the kind `readers` is one.

    >>> from inorder.plugins import Document, Paragraph, Reader
    >>> class LampReader:
    ...     extensions = ("lamp",)
    ...     def read(self, data, name):
    ...         return Document(name=name, mimetype="text/x-lamp", blocks=[Paragraph(text=data.decode())])
    >>> isinstance(LampReader(), Reader)
    True
    """

    @property
    def extensions(self) -> Collection[str]:
        """The types of the files that it reads, in lower case and without a dot."""
        ...

    def read(self, data: bytes, name: str) -> Document:
        """Return the document of a file. `name` is that of the file without its extension. Raises `ReadError` if the
        file cannot be read. The same bytes must give the same document."""
        ...


if not TYPE_CHECKING:  # type checkers shall report a name that does not exist
    __getattr__ = make_getattr(__name__, _MODULE_OF)


def __dir__() -> list[str]:
    return sorted(__all__)
