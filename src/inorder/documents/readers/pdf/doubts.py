"""Finds pages whose layout the rules may have misread: rows in columns that no table was made of."""

from collections.abc import Sequence

from inorder.documents.model import AnyBlock, Table

from .page import CELL_CHARACTERS_MAX, CELLS_PER_ROW_MIN
from .segments import PageText

ROWS_MIN = 5
"""Fewer rows of short pieces are a form, an address or a formula."""


def find_doubt(page: PageText, blocks: Sequence[AnyBlock]) -> str:
    """Return why the blocks of a page may be wrong; empty: nothing is known against them."""
    tables = [block.box for block in blocks if isinstance(block, Table) and block.box is not None]
    count = 0
    for row in page.rows:
        if sum(len(segment.text) < CELL_CHARACTERS_MAX for segment in row) < CELLS_PER_ROW_MIN:
            continue
        middle = (row[0].top + row[0].bottom) / 2
        count += not any(top <= middle <= bottom for _, top, _, bottom in tables)
    return f"has {count} rows in columns that are no table" if count >= ROWS_MIN else ""
