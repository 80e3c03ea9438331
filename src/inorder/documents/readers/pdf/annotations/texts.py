"""Reads what stands on a page beside its printed text: values of form fields, free text, stamps and notes.

PDFium keeps them apart from the text of a page. Each becomes a paragraph that says what it is, next to the block that
it is nearest to. A value is written with the description of its field. Fields that are hidden, empty, buttons or
passwords are left out. Text that only the appearance of a stamp has is not read.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import pypdfium2.raw as pdfium

from inorder.documents.model import AnyBlock, Box, Furniture, Paragraph
from inorder.documents.readers.pdf.pdfium import PdfFile, PdfPage
from inorder.documents.readers.unicode import clean
from inorder.documents.readers.whitespace import collapse_whitespace

ANNOTATIONS_MAX = 2_000
"""Per page: each is compared with all blocks."""
TEXT_BYTES_MAX = 200_000
OPTIONS_MAX = 1_000
_HIDDEN = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
_PASSWORD = 1 << 13
_WITHOUT_TEXT = frozenset((pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP, pdfium.FPDF_ANNOT_WIDGET))
_TEXT_FIELDS = frozenset((pdfium.FPDF_FORMFIELD_TEXTFIELD, pdfium.FPDF_FORMFIELD_COMBOBOX))
_CHECKED_FIELDS = frozenset((pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON))
_CHECKED = "\u2612"

Source = Literal["field", "note", "stamp"]


@contextmanager
def open_form(file: PdfFile) -> Iterator[Any]:
    """Open the form of a document. None if it has none."""
    if pdfium.FPDF_GetFormType(file.handle) == pdfium.FORMTYPE_NONE:
        yield None
        return
    info = pdfium.FPDF_FORMFILLINFO(version=2)
    form = pdfium.FPDFDOC_InitFormFillEnvironment(file.handle, info)
    try:
        yield form or None
    finally:
        if form:
            pdfium.FPDFDOC_ExitFormFillEnvironment(form)


def read_annotations(page: PdfPage, form: Any, lost: list[str]) -> list[Paragraph]:
    """The texts of the annotations of a page, from top to bottom."""
    total = pdfium.FPDFPage_GetAnnotCount(page.handle)
    count = min(total, ANNOTATIONS_MAX)
    if count < total:
        lost.append(f"has {total:,} annotations, of which {count:,} were read")
    found = [paragraph for index in range(count) if (paragraph := _read_annotation(page, form, index))]
    return sorted(found, key=_find_place)


def insert_annotations(blocks: list[AnyBlock], annotations: list[Paragraph]) -> list[AnyBlock]:
    """The blocks of a page with its annotations, each beside the block that is nearest to it."""
    after: dict[int, list[Paragraph]] = {}
    for annotation in annotations:
        after.setdefault(_find_block_before(blocks, annotation), []).append(annotation)
    found: list[AnyBlock] = [*after.get(-1, ())]
    for place, block in enumerate(blocks):
        found += (block, *after.get(place, ()))
    return found


def _find_place(block: Paragraph) -> tuple[float, float]:
    left, top, _, _ = block.box or (0.0, 0.0, 0.0, 0.0)
    return top, left


def _find_block_before(blocks: list[AnyBlock], annotation: Paragraph) -> int:
    """The place of the block that an annotation follows; -1: it is the first."""
    left, top, right, bottom = annotation.box or (0.0, 0.0, 0.0, 0.0)
    nearest, found = float("inf"), -1
    for place, block in enumerate(blocks):
        if block.box is None or isinstance(block, Furniture):
            continue
        x0, y0, x1, y1 = block.box
        distance = max(x0 - right, left - x1, 0.0) + 3 * max(y0 - bottom, top - y1, 0.0)
        if distance < nearest:
            nearest, found = distance, place if y0 <= (top + bottom) / 2 else place - 1
    return found


def _read_annotation(page: PdfPage, form: Any, index: int) -> Paragraph | None:
    annotation = pdfium.FPDFPage_GetAnnot(page.handle, index)
    if not annotation:
        return None
    try:
        if pdfium.FPDFAnnot_GetFlags(annotation) & _HIDDEN:
            return None
        source, text = _read_text(annotation, form)
        return Paragraph(text=text, page=page.number, box=read_box(page, annotation), source=source) if text else None
    finally:
        pdfium.FPDFPage_CloseAnnot(annotation)


def _read_text(annotation: Any, form: Any) -> tuple[Source, str]:
    subtype = pdfium.FPDFAnnot_GetSubtype(annotation)
    if subtype == pdfium.FPDF_ANNOT_WIDGET:
        return "field", _read_field(annotation, form)
    if subtype in _WITHOUT_TEXT:
        return "note", ""
    text = _read_entry(annotation, b"Contents")
    return "stamp" if subtype == pdfium.FPDF_ANNOT_STAMP else "note", text


def _read_field(annotation: Any, form: Any) -> str:
    """The value of a form field with its description; empty if it has no value."""
    kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation) if form else pdfium.FPDF_FORMFIELD_UNKNOWN
    if kind <= pdfium.FPDF_FORMFIELD_UNKNOWN:
        return _read_lost_field(annotation)
    label = _read_string(lambda *place: pdfium.FPDFAnnot_GetFormFieldAlternateName(form, annotation, *place))
    if kind in _CHECKED_FIELDS:
        return _read_check(annotation, label)
    if kind in _TEXT_FIELDS:
        if kind == pdfium.FPDF_FORMFIELD_TEXTFIELD and pdfium.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD:
            return ""
        value = _read_string(lambda *place: pdfium.FPDFAnnot_GetFormFieldValue(form, annotation, *place))
    elif kind == pdfium.FPDF_FORMFIELD_LISTBOX:
        value = _read_options(annotation, form)
    else:
        return ""
    return f"{label.rstrip(':')}: {value}" if label and value and label != value else value


def _read_check(annotation: Any, label: str) -> str:
    """The label of a box that is checked, and its value if that is a word; empty if it is not checked."""
    value = _read_entry(annotation, b"AS")
    if value in ("", "Off"):
        return ""
    is_word = value.isalpha() and value not in ("Yes", "On", "Checked")
    return " ".join(filter(None, (_CHECKED, f"{label}: {value}" if label and is_word else label or value * is_word)))


def _read_lost_field(annotation: Any) -> str:
    """The value of a field that the form of the document does not name."""
    return _read_entry(annotation, b"V") if _read_entry(annotation, b"FT") in ("Tx", "Ch") else ""


def _read_options(annotation: Any, form: Any) -> str:
    """The options of a list that are selected."""
    count = min(pdfium.FPDFAnnot_GetOptionCount(form, annotation), OPTIONS_MAX)
    selected = [at for at in range(count) if pdfium.FPDFAnnot_IsOptionSelected(form, annotation, at)]
    return ", ".join(
        _read_string(lambda *place, at=at: pdfium.FPDFAnnot_GetOptionLabel(form, annotation, at, *place))
        for at in selected
    )


def _read_entry(annotation: Any, key: bytes) -> str:
    """A string or a name in the dictionary of an annotation."""
    return _read_string(lambda *place: pdfium.FPDFAnnot_GetStringValue(annotation, key, *place))


def _read_string(read: Callable[..., int]) -> str:
    """A string that a function writes as UTF-16, and whose size it returns."""
    size = int(read(None, 0))
    if not 2 < size <= TEXT_BYTES_MAX:
        return ""
    buffer = (ctypes.c_ushort * (size // 2))()
    read(buffer, size)
    return collapse_whitespace(clean(bytes(buffer)[: size - 2].decode("utf-16-le", "replace")))


def read_box(page: PdfPage, annotation: Any) -> Box | None:
    """Where an annotation is on the displayed page."""
    rectangle = pdfium.FS_RECTF()
    if not pdfium.FPDFAnnot_GetRect(annotation, rectangle):
        return None
    left, bottom, right, top = page.bounds
    x0, x1 = sorted((rectangle.left, rectangle.right))
    y0, y1 = sorted((rectangle.bottom, rectangle.top))
    if page.rotation == 0:
        return x0 - left, top - y1, x1 - left, top - y0
    if page.rotation == 1:
        return y0 - bottom, x0 - left, y1 - bottom, x1 - left
    if page.rotation == 2:
        return right - x1, y0 - bottom, right - x0, y1 - bottom
    return top - y1, right - x1, top - y0, right - x0
