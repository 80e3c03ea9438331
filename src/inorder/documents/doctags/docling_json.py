"""Writes a document as DoclingDocument JSON, version 1.10: exact, and the same bytes for the same document.

The format has no field for warnings, for the reader, for unknown languages, and for emphasis of a part of a text: they
are left out. Links are in `orig`, written into the text as `[text](target)`; `text` is without them. Page headers and
footers are in the layer `furniture`. A table is written as its cells; the grid follows from them. The JSON is written
without docling-core; the tests prove that docling-core loads it unchanged.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from inorder.documents.model import (
    Block,
    Cell,
    Code,
    Document,
    Furniture,
    Heading,
    Link,
    ListItem,
    Paragraph,
    Picture,
    Span,
    Table,
    Title,
)

from .cells import count_header_rows, is_column_header
from .code_languages import language_name
from .outline import ListNode, OutlineItem, group_lists
from .provenance import page_sizes, place_of
from .tags import heading_level

Item = dict[str, Any]
"""An object of the JSON, its fields in the order of the schema."""
_BODY = {"$ref": "#/body"}
_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN = "application/vnd.oasis.opendocument"
_ACCEPTED = frozenset(
    (
        *(f"text/{each}" for each in ("plain", "html", "markdown", "csv", "asciidoc", "vtt", "xml")),
        *(f"image/{each}" for each in ("png", "jpeg", "tiff", "bmp")),
        *(f"{_OFFICE}.{each}" for each in ("wordprocessingml.document", "presentationml.presentation")),
        f"{_OFFICE}.spreadsheetml.sheet",
        *(f"{_OPEN}.{each}" for each in ("text", "spreadsheet", "presentation")),
        *(f"application/vnd.apple.{each}" for each in ("pages", "numbers", "keynote")),
        *(f"application/{each}" for each in ("pdf", "epub+zip", "rtf", "msword", "vnd.ms-excel", "vnd.ms-powerpoint")),
        *("application/x-tex", "application/json", "application/octet-stream", "message/rfc822"),
    )
)
"""MIME types of documents that docling-core accepts."""
_GENERAL = {
    "application/x-ipynb+json": "application/json",
    "application/mbox": "message/rfc822",
    "application/vnd.ms-outlook": "message/rfc822",
    "text/x-rst": "text/plain",
    "application/x-subrip": "text/plain",
    "application/xml": "text/xml",
    "application/vnd.ms-excel.sheet.binary.macroenabled.12": "application/vnd.ms-excel",
    "image/webp": "image/png",
}
"""What is written for those of ours that it does not."""


def write_json(document: Document, *, filename: str = "", binary_hash: int = 0) -> bytes:
    """The JSON of a document. `filename` and `binary_hash` (64 bits of a hash of the file) become its `origin`."""
    writer = _Writer(document)
    top = [writer.add(unit) for unit in group_lists(document.blocks)]
    origin = {"mimetype": _accepted_mimetype(document.mimetype), "binary_hash": binary_hash, "filename": filename}
    roots: Item = {"name": "_root_", "label": "unspecified"}
    record: Item = {
        "schema_name": "DoclingDocument",
        "version": "1.10.0",
        "name": document.name,
        **({"origin": origin} if filename else {}),
        "furniture": {"self_ref": "#/furniture", "children": [], "content_layer": "furniture", **roots},
        "body": {"self_ref": "#/body", "children": top, "content_layer": "body", **roots},
        "groups": writer.groups,
        "texts": writer.texts,
        "pictures": writer.pictures,
        "tables": writer.tables,
        "key_value_items": [],
        "form_items": [],
        "pages": {
            str(page): {"size": {"width": width, "height": height}, "page_no": page}
            for page, (width, height) in writer.sizes.items()
        },
    }
    return msgspec.json.encode(record)


def _accepted_mimetype(mimetype: str) -> str:
    """The MIME type of the file, or a more general one if docling-core refuses it: it knows those of Python and some
    more. What a plug-in names may be anything."""
    return mimetype if mimetype in _ACCEPTED else _GENERAL.get(mimetype, "application/octet-stream")


class _Writer:
    """Gives every block its reference, its parent and its children."""

    def __init__(self, document: Document) -> None:
        self.sizes = page_sizes(document)
        self.groups: list[Item] = []
        self.texts: list[Item] = []
        self.pictures: list[Item] = []
        self.tables: list[Item] = []

    def add(self, unit: OutlineItem) -> Item:
        """Add a block or list at the top level. Returns its reference."""
        if isinstance(unit, Paragraph):
            label = "footnote" if unit.source == "footnote" else "text"
            return self._add_text(label, unit.text, self._locate(unit, len(unit.text)), orig=_write_orig(unit))
        if isinstance(unit, ListNode):
            return self._add_list(unit, _BODY)
        if isinstance(unit, Table):
            return self._add_table(unit)
        if isinstance(unit, Picture):
            return self._add_floating(self.pictures, "picture", unit)
        prov = self._locate(unit, len(unit.text))
        if isinstance(unit, Heading):
            level = heading_level(unit)
            return self._add_text("section_header", unit.text, prov, orig=_write_orig(unit), level=level)
        if isinstance(unit, Code):
            more: Item = {"captions": [], "references": [], "footnotes": []}
            return self._add_text("code", unit.text, prov, code_language=language_name(unit.language), **more)
        if isinstance(unit, Furniture):
            return self._add_text(f"page_{unit.kind}", unit.text, prov, layer="furniture")
        if isinstance(unit, Title):
            return self._add_text("title", unit.text, prov, orig=_write_orig(unit))
        return self._add_text("formula", unit.text, prov)

    def _add_text(
        self,
        label: str,
        text: str,
        prov: list[Item],
        *,
        parent: Item = _BODY,
        children: list[Item] | None = None,
        layer: str = "body",
        orig: str | None = None,
        **more: Any,
    ) -> Item:
        ref = f"#/texts/{len(self.texts)}"
        item = {
            "self_ref": ref,
            "parent": parent,
            "children": [] if children is None else children,
            "content_layer": layer,
            "label": label,
            "prov": prov,
            "orig": text if orig is None else orig,
            "text": text,
        }
        self.texts.append(item | more if more else item)
        return {"$ref": ref}

    def _add_list(self, node: ListNode, parent: Item) -> Item:
        ref = {"$ref": f"#/groups/{len(self.groups)}"}
        children: list[Item] = []
        nested: list[Item] = []
        self.groups.append(
            {
                "self_ref": ref["$ref"],
                "parent": parent,
                "children": children,
                "content_layer": "body",
                "name": "list",
                "label": "list",
            }
        )
        for entry in node.entries:
            if isinstance(entry, ListNode):
                nested.append(self._add_list(entry, children[-1]))
                continue
            prov, nested = self._locate(entry, len(entry.text)), []
            more: Item = {"enumerated": entry.ordered, "marker": entry.marker}
            more["orig"] = _write_orig(entry)
            children.append(self._add_text("list_item", entry.text, prov, parent=ref, children=nested, **more))
        return ref

    def _add_table(self, table: Table) -> Item:
        header_rows = count_header_rows(table)
        data = {
            "table_cells": [_make_cell(cell, header_rows) for cell in table.cells],
            "num_rows": table.rows,
            "num_cols": table.columns,
            "orientation": "rot_0",
        }
        return self._add_floating(self.tables, "table", table, data=data)

    def _add_floating(self, items: list[Item], label: str, block: Picture | Table, **more: Item) -> Item:
        ref = {"$ref": f"#/{label}s/{len(items)}"}
        captions = [self._add_text("caption", block.caption, [], parent=ref)] if block.caption else []
        items.append(
            {
                "self_ref": ref["$ref"],
                "parent": _BODY,
                "children": captions,
                "content_layer": "body",
                "label": label,
                "prov": self._locate(block, 0),
                "captions": captions,
                "references": [],
                "footnotes": [],
                "annotations": [],
                **more,
            }
        )
        return ref

    def _locate(self, block: Block, length: int) -> list[Item]:
        place = place_of(block, self.sizes) if self.sizes else None
        if place is None:
            return []
        page, left, top, right, bottom = place
        box = {"l": left, "t": top, "r": right, "b": bottom, "coord_origin": "TOPLEFT"}
        return [{"page_no": page, "bbox": box, "charspan": (0, length)}]


def _make_cell(cell: Cell, header_rows: int) -> Item:
    is_column = cell.is_header and is_column_header(cell, header_rows)
    return {
        "row_span": cell.rows,
        "col_span": cell.columns,
        "start_row_offset_idx": cell.row,
        "end_row_offset_idx": cell.row + cell.rows,
        "start_col_offset_idx": cell.column,
        "end_col_offset_idx": cell.column + cell.columns,
        "text": cell.text,
        "column_header": is_column,
        "row_header": cell.is_header and not is_column,
        "row_section": False,
        "fillable": False,
    }


def _write_orig(block: Title | Heading | Paragraph | ListItem) -> str:
    return insert_links(block.text, block.links) if block.links else block.text


def insert_links(text: str, links: Sequence[Link]) -> str:
    """Write links into a text as `[text](target)`, each at the next occurrence of its own text."""
    parts: list[str] = []
    reached = 0
    for begin, end, target in place_links(text, links):
        parts += (text[reached:begin], "[", text[begin:end], "](", target, ")")
        reached = end
    return "".join((*parts, text[reached:]))


def place_links(text: str, links: Sequence[Link], spans: Sequence[Span] = ()) -> Iterator[tuple[int, int, str]]:
    """Where each link begins and ends, at the next occurrence of its text, and its target. An occurrence that is only a
    part of some code is not that of a link."""
    codes = [span for span in spans if span[0] == "code"]
    reached = 0
    for label, target in links:
        at = text.find(label, reached) if label else -1
        end = at + len(label)
        while codes and at >= 0 and (inside := next((code for code in codes if _is_part(at, end, code)), None)):
            at = text.find(label, inside[2])
            end = at + len(label)
        if at >= 0:
            reached = end
            yield at, end, target


def _is_part(begin: int, end: int, span: Span) -> bool:
    return span[1] <= begin and end <= span[2] and (begin, end) != span[1:]
