"""`--set steps=redact`: replaces the digits in running text."""

import re

from inorder.plugins import Document, Paragraph


def redact(document: Document, name: str) -> Document:
    """Return the document without digits."""
    for block in document.blocks:
        if isinstance(block, Paragraph):
            block.text = re.sub(r"[0-9]", "#", block.text)
    return document
