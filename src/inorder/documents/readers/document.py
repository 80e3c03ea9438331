"""What readers share: the limit of the size of a file, and the document that is made of blocks."""

from inorder.documents.model import AnyBlock, Document, Page
from inorder.errors import ReadError

from .registry import reader_version


def require_size(data: bytes, bytes_max: int, what: str) -> None:
    """Raise `ReadError` if a file is too large. `what` is what the limit is for."""
    if len(data) > bytes_max:
        raise ReadError(f"the file has {len(data):,} bytes; the limit for {what} is {bytes_max:,}")


def make_document(
    kind: str,
    name: str,
    mimetype: str,
    blocks: list[AnyBlock],
    warnings: list[str],
    pages: list[Page] | None = None,
) -> Document:
    """The document that the reader of `kind` returns. One without text has a warning."""
    if not blocks:
        warnings.append("the document has no text")
    return Document(
        name=name, mimetype=mimetype, blocks=blocks, pages=pages or [], reader=reader_version(kind), warnings=warnings
    )
