"""Steps of other packages: they change a document after it was read, and before it is stored and chunked."""

from typing import Protocol

from inorder.documents.model import Document
from inorder.errors import OperatorError, ReadError
from inorder.extensions.registry import Plugin, Registry

NO_STEPS = "none"
TABLE: Registry[Plugin] = Registry("steps", {}, lambda plugin: plugin)


class StepPlugin(Protocol):
    """Changes a document after it was read, and before it is chunked. A plug-in of the kind `steps` is one.

    >>> from inorder.plugins import Document, Paragraph
    >>> def drop_pictures(document, name):
    ...     document.blocks = [block for block in document.blocks if isinstance(block, Paragraph)]
    ...     return document
    >>> drop_pictures(Document(name="lamp", mimetype="text/plain", blocks=[]), "docs/lamp.txt").blocks
    []
    """

    def __call__(self, document: Document, name: str) -> Document:
        """Return the document as it is stored. `name` is the id of the file. The same document must give the same
        one."""
        ...


def find_steps(names: str) -> list[Plugin]:
    """Return the steps with these names, which commas separate. Raises OperatorError if there is none with a name."""
    found = []
    for name in [] if names == NO_STEPS else names.split(","):
        plugin = TABLE.find(name.strip())
        if plugin is None:
            raise OperatorError(
                f"no step is called {name.strip()!r}: it must be the name of a plug-in (see `inorder plugins`) or "
                "module:name"
            )
        found.append(plugin)
    return found


def apply_steps(document: Document, name: str, names: str) -> Document:
    """Run the steps with these names, in this order. Raises `ReadError` if one does not return a document."""
    for plugin in find_steps(names):
        document = plugin.load()(document, name)
        if not isinstance(document, Document):
            raise ReadError(f"the plug-in {plugin} (steps) has returned {type(document).__name__}, and not a Document")
    return document
