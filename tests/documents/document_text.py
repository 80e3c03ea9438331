"""The content of a document in a form that is easy to compare: its blocks as text, and its words in order."""

import re

from inorder.documents.model import AnyBlock, Document, Picture, Table


def block_texts(document: Document) -> list[tuple[str, str]]:
    """Every block as its kind and its text."""
    return [(type(block).__name__.lower(), block_text(block)) for block in document.blocks]


def block_text(block: AnyBlock) -> str:
    match block:
        case Table():
            rows: dict[int, list[str]] = {}
            for cell in block.cells:
                rows.setdefault(cell.row, []).append(cell.text)
            return " / ".join(" | ".join(row) for row in rows.values())
        case Picture():
            return block.caption
        case _:
            return block.text


def words(document: Document) -> list[str]:
    """Every word, in reading order."""
    found: list[str] = []
    for block in document.blocks:
        if isinstance(block, Table):
            found += re.findall(r"\w+", block.caption)
        found += re.findall(r"\w+", block_text(block))
    return found
