"""The part of the DoclingDocument JSON schema, version 1.10, that we write. It gives the names and order of fields.

Fields that follow each other and have the same values in many items are one field here (`Raw`): the JSON of their
values and of the names between them, which `join_fields` makes.
"""

import msgspec

VERSION = "1.10.0"


class Ref(msgspec.Struct, gc=False):
    """A pointer to another item of the same document."""

    target: str = msgspec.field(name="$ref")


BODY = Ref("#/body")


class BoundingBox(msgspec.Struct, gc=False):
    """A box in points, from the top left corner of the page."""

    l: float  # noqa: E741  the name in the schema
    t: float
    r: float
    b: float
    coord_origin: str = "TOPLEFT"


class Provenance(msgspec.Struct, gc=False):
    """The position of an item on a page."""

    page_no: int
    bbox: BoundingBox
    charspan: tuple[int, int]


class Group(msgspec.Struct, gc=False):
    """A list, or one of the two roots (body and furniture)."""

    self_ref: str
    parent: Ref | msgspec.UnsetType = msgspec.UNSET
    children: list[Ref] = []
    content_layer: str = "body"
    name: str = "_root_"
    label: str = "unspecified"


class TextFields(msgspec.Struct, gc=False):
    """What texts of a kind have in common. `label` names the kind."""

    parent: Ref
    children: list[Ref]
    content_layer: str
    label: str
    prov: list[Provenance]


class TextItem(msgspec.Struct, gc=False):
    """Text of any kind."""

    self_ref: str
    common: msgspec.Raw = msgspec.field(name="parent")
    """`TextFields`."""
    orig: str
    text: str


class SectionHeaderItem(TextItem, gc=False):
    """A heading."""

    level: int


class CodeItem(TextItem, gc=False):
    """Code. In the schema it is also a floating item, with captions."""

    code_language: str
    captions: list[Ref] = []
    references: list[Ref] = []
    footnotes: list[Ref] = []


class ListItemFields(msgspec.Struct, gc=False):
    """What list items have in common."""

    content_layer: str
    label: str
    prov: list[Provenance]


class ListTextItem(msgspec.Struct, gc=False):
    """A list item."""

    self_ref: str
    parent: Ref
    children: list[Ref]
    common: msgspec.Raw = msgspec.field(name="content_layer")
    """`ListItemFields`."""
    orig: str
    text: str
    enumerated: bool
    marker: str


class FloatingItem(msgspec.Struct, gc=False):
    """A picture, and the fields that tables share with pictures."""

    self_ref: str
    parent: Ref
    children: list[Ref]
    content_layer: str
    label: str
    prov: list[Provenance]
    captions: list[Ref]
    references: list[Ref] = []
    footnotes: list[Ref] = []
    annotations: list[str] = []


class CellFlags(msgspec.Struct, gc=False):
    """The kind of a cell."""

    column_header: bool = False
    row_header: bool = False
    row_section: bool = False
    fillable: bool = False


class TableCell(msgspec.Struct, gc=False):
    """One cell of a table."""

    row_span: int
    col_span: int
    start_row_offset_idx: int
    end_row_offset_idx: int
    start_col_offset_idx: int
    end_col_offset_idx: int
    text: str
    flags: msgspec.Raw = msgspec.field(name="column_header")
    """`CellFlags`."""


class TableData(msgspec.Struct, gc=False):
    """Cells and the size of their grid. The grid itself is not written: it follows from the cells."""

    table_cells: list[TableCell]
    num_rows: int
    num_cols: int
    orientation: str = "rot_0"


class TableItem(FloatingItem, kw_only=True, gc=False):
    """A table."""

    data: TableData


class PageSize(msgspec.Struct, gc=False):
    """The size of a page in points."""

    width: float
    height: float


class PageItem(msgspec.Struct, gc=False):
    """A page."""

    size: PageSize
    page_no: int


class Origin(msgspec.Struct, gc=False):
    """The file the document was read from."""

    mimetype: str
    binary_hash: int
    filename: str


class Record(msgspec.Struct, kw_only=True):
    """The whole document."""

    schema_name: str = "DoclingDocument"
    version: str = VERSION
    name: str
    origin: Origin | msgspec.UnsetType = msgspec.UNSET
    furniture: Group
    body: Group
    groups: list[Group]
    texts: list[TextItem | ListTextItem]
    pictures: list[FloatingItem]
    tables: list[TableItem]
    key_value_items: list[str] = []
    form_items: list[str] = []
    pages: dict[str, PageItem]


def join_fields(fields: TextFields | ListItemFields | CellFlags) -> msgspec.Raw:
    """The JSON of several fields without the name of the first, as a value of it."""
    return msgspec.Raw(msgspec.json.encode(fields).partition(b":")[2][:-1])
