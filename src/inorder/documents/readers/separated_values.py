"""Reads tables in text files: CSV with any common delimiter, and tab-separated values.

The delimiter is the one that gives the most rows of the same length. The first row is the header.
"""

import csv
from collections import Counter
from itertools import islice

from inorder.documents.model import Document
from inorder.errors import ReadError
from inorder.files.encoding import decode

from .document import make_document, require_size
from .table_grid import TableBudget, TableGrid
from .whitespace import collapse_whitespace

BYTES_MAX = 256 * 2**20
DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 50
_SAMPLE_CHARACTERS = 65_536


def read(data: bytes, name: str) -> Document:
    """Read a CSV or TSV file."""
    require_size(data, BYTES_MAX, "tables in text")
    decoded = decode(data)
    text = decoded.text
    warnings = [decoded.warning] if decoded.warning else []
    first, _, rest = text.partition("\n")
    delimiter = ""
    if first[:4].lower() == "sep=" and len(first.rstrip("\r")) == 5:  # Excel's own hint
        delimiter, text = first[4], rest
    csv.field_size_limit(BYTES_MAX)
    budget, grid = TableBudget(), TableGrid()
    try:
        rows = csv.reader(text.splitlines(keepends=True), delimiter=delimiter or _find_delimiter(text))
        for number, row in enumerate(row for row in rows if any(row)):
            grid.add_row(list(map(collapse_whitespace, row)), is_header=number == 0)
    except (csv.Error, TypeError, ValueError) as error:
        raise ReadError(f"not a table: {error}") from None
    blocks = grid.finish(budget)
    return make_document("csv", name, "text/csv", blocks, warnings + budget.warnings)


def _find_delimiter(text: str) -> str:
    lines = text[:_SAMPLE_CHARACTERS].splitlines(keepends=True)
    if len(text) > _SAMPLE_CHARACTERS and len(lines) > 1:
        lines.pop()  # cut within a row
    best, best_score = ",", (0.0, 0)
    for delimiter in DELIMITERS:
        widths = Counter(map(len, filter(None, islice(csv.reader(lines, delimiter=delimiter), _SAMPLE_ROWS))))
        if not widths:
            continue
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]))
        score = (count / widths.total(), width)
        if width > 1 and score > best_score:
            best, best_score = delimiter, score
    return best
