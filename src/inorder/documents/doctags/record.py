"""A DoclingDocument as it is decoded from JSON, whichever program wrote it: the fields that are read."""

import re
from typing import Annotated

import msgspec


class Ref(msgspec.Struct, gc=False):
    """A pointer to another item of the same document."""

    target: str = msgspec.field(name="$ref")


class Provenance(msgspec.Struct, gc=False):
    """The position of an item."""

    page_no: Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]


class GridCell(msgspec.Struct, gc=False):
    """One cell of a table."""

    text: str = ""
    start_row_offset_idx: int = 0
    start_col_offset_idx: int = 0
    row_span: int = 1
    col_span: int = 1
    column_header: bool = False
    row_header: bool = False
    ref: Ref | None = None
    """The item in the cell, if it contains more than text."""


class Grid(msgspec.Struct):
    """The cells of a table."""

    table_cells: list[GridCell] = []
    num_rows: int = 0
    num_cols: int = 0


class Formatting(msgspec.Struct, gc=False):
    """The look of an item's text."""

    bold: bool = False
    italic: bool = False


class Item(msgspec.Struct):
    """An item of any kind."""

    children: list[Ref] = []
    content_layer: str = "body"
    label: str = "text"
    prov: list[Provenance] = []
    text: str = ""
    orig: str = ""
    formatting: Formatting | None = None
    hyperlink: str | None = None
    level: int = 1
    enumerated: bool = False
    marker: str = "-"
    code_language: str = ""
    captions: list[Ref] = []
    footnotes: list[Ref] = []
    data: Grid | None = None


class Origin(msgspec.Struct):
    """The file the document was read from."""

    mimetype: str = ""


class PageSize(msgspec.Struct):
    """The size of a page in points."""

    width: float = 0.0
    height: float = 0.0


class PageItem(msgspec.Struct):
    """A page."""

    page_no: int = 0
    size: PageSize = msgspec.field(default_factory=PageSize)


class Record(msgspec.Struct):
    """The whole document."""

    body: Item
    name: str = ""
    origin: Origin | None = None
    groups: list[Item] = []
    texts: list[Item] = []
    pictures: list[Item] = []
    tables: list[Item] = []
    key_value_items: list[Item] = []
    form_items: list[Item] = []
    field_regions: list[Item] = []
    field_items: list[Item] = []
    pages: dict[str, PageItem] = {}

    def list_items(self, *kinds: str) -> dict[str, Item]:
        """The items of these kinds by what refers to them."""
        return {f"#/{kind}/{number}": item for kind in kinds for number, item in enumerate(getattr(self, kind))}


_LINK = re.compile(r"\[([^\[\]]+)\]\(([^()]*)\)")
_DECODER = msgspec.json.Decoder(Record)


def find_links(item: Item) -> list[tuple[str, str]]:
    """The links of a text: all of it, or those in `orig`, if that is the text with links in Markdown."""
    if item.hyperlink:
        return [(item.text, item.hyperlink)] if item.text else []
    if item.orig == item.text or _LINK.sub(r"\1", item.orig) != item.text:
        return []
    return _LINK.findall(item.orig)


def decode_record(record: bytes) -> Record:
    """Decode the JSON of a document. Raises ValueError if it is not a DoclingDocument."""
    try:
        return _DECODER.decode(record)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"not a DoclingDocument: {error}") from error
