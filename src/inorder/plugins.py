"""What plug-ins are made of. These are the public names for authors of readers, and of what else is a plug-in.

A plug-in is an object of another package. It is named as `module:name`, or has an entry point of the group
`inorder.readers`; `inorder plugins` lists those. The guide on plug-ins shows how to write, install and test one.
"""

from collections.abc import Collection
from typing import Protocol, runtime_checkable

from inorder.documents.model import (
    AnyBlock,
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

__all__ = [
    "AnyBlock",
    "Cell",
    "Code",
    "Document",
    "Formula",
    "Furniture",
    "Heading",
    "ListItem",
    "Page",
    "Paragraph",
    "Picture",
    "ReadError",
    "Reader",
    "Table",
    "Title",
]


@runtime_checkable
class Reader(Protocol):
    """Reads files of some types. The plug-in of the kind `readers`.

    >>> from inorder.plugins import Document, Paragraph, Reader
    >>> class LampReader:
    ...     extensions = ("lamp",)
    ...     def read(self, data, name):
    ...         return Document(name=name, mimetype="text/x-lamp", blocks=[Paragraph(text=data.decode())])
    >>> isinstance(LampReader(), Reader)
    True
    """

    extensions: Collection[str]
    """The types of the files that it reads, in lower case and without a dot."""

    def read(self, data: bytes, name: str) -> Document:
        """Return the document of a file. `name` is that of the file without its extension. Raises `ReadError` if the
        file cannot be read. The same bytes must give the same document."""
        ...
