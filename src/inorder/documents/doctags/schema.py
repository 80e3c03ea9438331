"""The DoclingDocument JSON, version 1.10, as far as we write it. Names and order of the fields are its own."""

import msgspec

VERSION = "1.10.0"


class Ref(msgspec.Struct, gc=False):
    """A pointer to another item of the same document."""

    target: str = msgspec.field(name="$ref")


BODY = Ref("#/body")


class BoundingBox(msgspec.Struct, gc=False):
    """In points, from the top left corner."""

    l: float  # noqa: E741  their name
    t: float
    r: float
    b: float
    coord_origin: str = "TOPLEFT"


class Provenance(msgspec.Struct, gc=False):
    """Where an item stands."""

    page_no: int
    bbox: BoundingBox
    charspan: tuple[int, int]


class Group(msgspec.Struct, gc=False):
    """A list, or one of the two roots."""

    self_ref: str
    parent: Ref | msgspec.UnsetType = msgspec.UNSET
    children: list[Ref] = []
    content_layer: str = "body"
    name: str = "_root_"
    label: str = "unspecified"


class TextItem(msgspec.Struct, gc=False):
    """Text of any kind; `label` says which."""

    self_ref: str
    parent: Ref
    children: list[Ref]
    content_layer: str
    label: str
    prov: list[Provenance]
    orig: str
    text: str


class SectionHeaderItem(TextItem, gc=False):
    """The title of a section."""

    level: int


class ListTextItem(TextItem, gc=False):
    """An item of a list."""

    enumerated: bool
    marker: str


class CodeItem(TextItem, gc=False):
    """Code, which may float like a picture."""

    code_language: str
    captions: list[Ref] = []
    references: list[Ref] = []
    footnotes: list[Ref] = []


class FloatingItem(msgspec.Struct, gc=False):
    """A picture, or what tables share with pictures."""

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


class TableCell(msgspec.Struct, gc=False):
    """One cell of a table."""

    row_span: int
    col_span: int
    start_row_offset_idx: int
    end_row_offset_idx: int
    start_col_offset_idx: int
    end_col_offset_idx: int
    text: str
    column_header: bool = False
    row_header: bool = False
    row_section: bool = False
    fillable: bool = False


class TableData(msgspec.Struct, gc=False):
    """Cells and the size of their grid. The grid itself follows from them and is not written."""

    table_cells: list[TableCell]
    num_rows: int
    num_cols: int
    orientation: str = "rot_0"


class TableItem(FloatingItem, kw_only=True, gc=False):
    """A table."""

    data: TableData


class PageSize(msgspec.Struct, gc=False):
    """Of a page, in points."""

    width: float
    height: float


class PageItem(msgspec.Struct, gc=False):
    """One page."""

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
    texts: list[TextItem]
    pictures: list[FloatingItem]
    tables: list[TableItem]
    key_value_items: list[str] = []
    form_items: list[str] = []
    pages: dict[str, PageItem]
