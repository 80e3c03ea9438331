"""Makes the document of a reader from its blocks."""

from inorder.documents.model import AnyBlock, Document, Page

from .registry import reader_version


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
