"""Reads Jupyter notebooks: Markdown cells, code cells, and the text of their outputs, in order."""

from collections.abc import Iterator
from typing import Any

import msgspec

from inorder.documents.model import AnyBlock, Code, Document
from inorder.errors import ReadError

from .block_builder import mark_title
from .document import make_document, require_size
from .html.reader import read_page
from .markdown.reader import read_fragment

MIMETYPE = "application/x-ipynb+json"
BYTES_MAX = 256 * 2**20
CELLS_MAX = 100_000
OUTPUT_CHARACTERS_MAX = 20_000
"""Per output: a log can have megabytes, and its end says little."""


def read(data: bytes, name: str) -> Document:
    """Read a notebook."""
    require_size(data, BYTES_MAX, "notebooks")
    try:
        notebook = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReadError(f"not a notebook, or damaged: {error}") from None
    cells = list(_list_cells(notebook))
    if not cells and not (isinstance(notebook, dict) and "nbformat" in notebook):
        raise ReadError("not a notebook: it has no cells")
    metadata = _get_dict(notebook, "metadata")
    language = _get_text(_get_dict(metadata, "language_info"), "name")
    language = language or _get_text(_get_dict(metadata, "kernelspec"), "language")
    warnings: list[str] = []
    if len(cells) > CELLS_MAX:
        warnings.append(f"only the first {CELLS_MAX:,} of {len(cells):,} cells were read")
    blocks = [block for cell in cells[:CELLS_MAX] for block in _read_cell(cell, language, warnings)]
    blocks = mark_title(blocks, _get_text(metadata, "title"))
    return make_document("notebook", name, MIMETYPE, blocks, list(dict.fromkeys(warnings)))


def _list_cells(notebook: Any) -> Iterator[dict[str, Any]]:
    """The cells of a notebook; up to format 3 they are in worksheets."""
    sheets = [notebook, *_get_list(notebook, "worksheets")]
    return (cell for sheet in sheets for cell in _get_list(sheet, "cells") if isinstance(cell, dict))


def _read_cell(cell: dict[str, Any], language: str, warnings: list[str]) -> Iterator[AnyBlock]:
    source = _get_text(cell, "source") or _get_text(cell, "input")
    match cell.get("cell_type"):
        case "markdown":
            yield from read_fragment(source, warnings)
        case "code":
            if source.strip():
                yield Code(text=source.strip("\n"), language=_get_text(cell, "language") or language)
            for output in _get_list(cell, "outputs"):
                yield from _read_output(output, warnings)
        case "heading":  # format 3
            level = cell.get("level")
            signs = "#" * min(max(level, 1), 6) if isinstance(level, int) else "#"
            yield from read_fragment(f"{signs} {source}", warnings)
        case _:
            if source.strip():
                yield Code(text=source.strip("\n"))


def _read_output(output: Any, warnings: list[str]) -> Iterator[AnyBlock]:
    """The text of an output. A table is read from its HTML, if there is any."""
    data = _get_dict(output, "data")
    page = _get_text(data, "text/html") or _get_text(output, "html")
    if "<table" in page:
        yield from read_page(page.encode("utf-8", "replace"), warnings, keep_all=True).blocks
        return
    if markdown := _get_text(data, "text/markdown"):
        yield from read_fragment(markdown, warnings)
        return
    text = _get_text(output, "text") or _get_text(data, "text/plain")
    if not text and (problem := _get_text(output, "ename")):
        text = f"{problem}: {_get_text(output, 'evalue')}"
    if len(text) > OUTPUT_CHARACTERS_MAX:
        warnings.append(f"an output was cut after {OUTPUT_CHARACTERS_MAX:,} of {len(text):,} characters")
    if text.strip():
        yield Code(text=text[:OUTPUT_CHARACTERS_MAX].strip("\n"))


def _get_dict(value: Any, name: str) -> dict[str, Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _get_list(value: Any, name: str) -> list[Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def _get_text(value: Any, name: str) -> str:
    """A text, which notebooks may split into lines."""
    found = value.get(name) if isinstance(value, dict) else None
    if isinstance(found, list):
        found = "".join(line for line in found if isinstance(line, str))
    return found if isinstance(found, str) else ""
