"""Makes blocks of what a model has written about a page: Markdown, with HTML for tables that have spans.

The text is foreign. Nothing is loaded for it, a picture is its description, and links keep their words and lose their
addresses: a model that reads a page may invent one, or repeat one that the page was made for.
"""

import re
from collections.abc import Iterator

import msgspec

from inorder.documents.model import AnyBlock, Formula, Heading, Paragraph, Picture, Table, Title
from inorder.documents.readers.markdown.reader import read_fragment
from inorder.models.validation import sanitize

_FENCE = re.compile(r"\A\s*```[ \t]*(?:markdown|md|html)?[ \t]*\n(.*?)\n?```\s*\Z", re.S | re.I)
_PART = re.compile(
    r"^[ \t]*(?:\$\$(?P<tex>.{1,4000}?)\$\$|\\\[(?P<bracketed>.{1,4000}?)\\\]"
    r"|!\[(?P<picture>[^\]\n]{0,2000})\]\([^)\n]{0,2000}\))[ \t]*$",
    re.S | re.M,
)
"""A formula or a picture that stands alone."""
_CAPTION = re.compile(r"(?:table|figure|fig\.)\s*\d+\b", re.I)
_CAPTION_CHARACTERS_MAX = 300


def read_page_text(text: str, page: int, warnings: list[str]) -> list[AnyBlock]:
    """Return the blocks of a page that a model has described. `warnings` gets what could not be read."""
    fenced = _FENCE.match(text)
    if fenced is not None and "```" not in fenced.group(1):
        text = fenced.group(1)
    blocks: list[AnyBlock] = []
    start = 0
    for part in _PART.finditer(text):
        blocks += read_fragment(sanitize(text[start : part.start()]), warnings)
        formula = part["tex"] or part["bracketed"]
        blocks.append(Formula(text=formula.strip()) if formula else Picture(caption=part["picture"].strip()))
        start = part.end()
    blocks += read_fragment(sanitize(text[start:]), warnings)
    if page == 1 and blocks and isinstance(first := blocks[0], Heading) and first.level == 1:
        blocks[0] = Title(text=first.text)
    found = list(_attach_captions(blocks))
    for block in found:
        block.page, block.links = page, []
        if isinstance(block, Table):
            block.cells = [msgspec.structs.replace(cell, links=()) if cell.links else cell for cell in block.cells]
    return found


def _attach_captions(blocks: list[AnyBlock]) -> Iterator[AnyBlock]:
    """Yield the blocks; a paragraph such as "Table 3: Oil" before a table or after a picture is its caption."""
    waiting: Paragraph | None = None
    for number, block in enumerate(blocks):
        if waiting is not None:
            if isinstance(block, Table) and not block.caption:
                block.caption = waiting.text
            else:
                yield waiting
            waiting = None
        before = blocks[number - 1] if number else None
        if isinstance(block, Paragraph) and _CAPTION.match(block.text) and len(block.text) <= _CAPTION_CHARACTERS_MAX:
            if isinstance(before, Picture) and not before.caption:
                before.caption = block.text
            else:
                waiting = block
        else:
            yield block
    if waiting is not None:
        yield waiting
