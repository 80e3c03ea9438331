"""Reads the graphics of a page: rules of tables, and pictures.

A rule is a line, or a box so thin that it looks like one. The edges of larger boxes count as rules too, because tables
are often made of boxes. Coordinates are those of the displayed page.
"""

import ctypes
import struct
from array import array
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import repeat

import pypdfium2.raw as pdfium

from inorder.documents.model import Box

from .pdfium import PdfPage, bind_function
from .segments import Graphics, Rule

OBJECTS_MAX = 20_000
"""A page with more objects is a map or a plot, and its lines do not form tables."""
PATHS_MAX = 4_000
POINTS_MAX = 400
POINTS_OF_BOX = 5
THIN_POINTS = 2.5
RULE_POINTS_MIN = 6.0
SAME_LINE_POINTS = 1.5
NEAR_POINTS = 3.0
"""Rules nearer than this touch."""

_POINTER = ctypes.c_void_p
_get_object = bind_function("FPDFPage_GetObject", _POINTER)
_get_type = bind_function("FPDFPageObj_GetType", ctypes.c_int, _POINTER)
_get_bounds = bind_function("FPDFPageObj_GetBounds", ctypes.c_int, *[_POINTER] * 5)
_get_matrix = bind_function("FPDFPageObj_GetMatrix", ctypes.c_int, _POINTER, _POINTER)
_count_points = bind_function("FPDFPath_CountSegments", ctypes.c_int, _POINTER)
_get_point = bind_function("FPDFPath_GetPathSegment", _POINTER, _POINTER, _POINTER)
_get_place = bind_function("FPDFPathSegment_GetPoint", ctypes.c_int, _POINTER, _POINTER, _POINTER)
_get_kind = bind_function("FPDFPathSegment_GetType", ctypes.c_int, _POINTER)


def read_graphics(page: PdfPage) -> Graphics:
    """The rules and pictures of a page."""
    count = page.object_count()
    if not 0 < count <= OBJECTS_MAX:
        return Graphics()
    texts = page.text_objects
    objects = [drawn for drawn in map(_get_object, repeat(page.address), range(count)) if drawn not in texts]
    kinds = list(map(_get_type, objects))
    view = PageView(page)
    pictures = view.boxes(_select(objects, kinds, pdfium.FPDF_PAGEOBJ_IMAGE))
    paths = _select(objects, kinds, pdfium.FPDF_PAGEOBJ_PATH)
    drawings = view.boxes(_select(objects, kinds, pdfium.FPDF_PAGEOBJ_FORM))
    if len(paths) > PATHS_MAX:
        return Graphics(pictures=pictures, drawings=drawings)
    across: set[Rule] = set()
    down: set[Rule] = set()
    for path, box in zip(paths, view.boxes(paths), strict=True):
        _add_rules(box, across, down)
        if box[2] - box[0] > THIN_POINTS < box[3] - box[1] and _count_points(path) > POINTS_OF_BOX:
            for line in view.lines(path):
                _add_rules(line, across, down)
    return Graphics(merge_rules(across), merge_rules(down), pictures, drawings)


def _select(objects: list[int], kinds: list[int], wanted: int) -> list[int]:
    return [drawn for drawn, kind in zip(objects, kinds, strict=True) if kind == wanted]


def _add_rules(box: Box, across: set[Rule], down: set[Rule]) -> None:
    """Add the rules of a box: the box itself if it is thin, otherwise its edges."""
    left, top, right, bottom = box
    if bottom - top <= THIN_POINTS:
        if right - left >= RULE_POINTS_MIN:
            across.add(((top + bottom) / 2, left, right))
    elif right - left <= THIN_POINTS:
        if bottom - top >= RULE_POINTS_MIN:
            down.add(((left + right) / 2, top, bottom))
    else:
        across.add((top, left, right))
        across.add((bottom, left, right))
        down.add((left, top, bottom))
        down.add((right, top, bottom))


def merge_rules(rules: Iterable[Rule]) -> list[Rule]:
    """Merge rules on the same line that touch each other. Returns them sorted."""
    lanes: list[tuple[float, list[tuple[float, float]]]] = []
    for place, start, end in sorted(rules):
        if not lanes or place - lanes[-1][0] > SAME_LINE_POINTS:
            lanes.append((place, []))
        lanes[-1][1].append((start, end))
    return [(place, start, end) for place, lane in lanes for start, end in _merge_intervals(lane)]


def _merge_intervals(lane: list[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    lane.sort()
    start, end = lane[0]
    for next_start, next_end in lane:
        if next_start > end + NEAR_POINTS:
            yield start, end
            start, end = next_start, next_end
        elif next_end > end:
            end = next_end
    yield start, end


def merge_positions(edges: Iterable[float]) -> list[float]:
    """The positions in order, with near ones merged."""
    places: list[float] = []
    for edge in sorted(edges):
        if not places or edge - places[-1] > NEAR_POINTS:
            places.append(edge)
    return places


class PageView:
    """Converts boxes from the coordinates of a PDF page to those of a reader."""

    def __init__(self, page: PdfPage) -> None:
        self._left, self._bottom, self._right, self._top = page.bounds
        self._quarter = page.rotation
        self._numbers = array("f", bytes(24))
        start = self._numbers.buffer_info()[0]
        self._addresses = [start + 4 * index for index in range(6)]

    def boxes(self, drawn: list[int]) -> list[Box]:
        """The boxes of page objects."""
        if not drawn:
            return []
        size = 16 * len(drawn)
        buffer = array("f", bytes(size))
        start = buffer.buffer_info()[0]
        edges = [range(start + 4 * edge, start + size, 16) for edge in range(4)]
        deque(map(_get_bounds, drawn, *edges), 0)
        found = struct.iter_unpack("4f", buffer)
        if self._quarter:
            return [self.box(*numbers) for numbers in found]
        x, y = self._left, self._top
        return [(left - x, y - top, right - x, y - bottom) for left, bottom, right, top in found]

    def box(self, left: float, bottom: float, right: float, top: float) -> Box:
        """A box on the displayed page."""
        if self._quarter == 0:
            return left - self._left, self._top - top, right - self._left, self._top - bottom
        if self._quarter == 1:
            return bottom - self._bottom, left - self._left, top - self._bottom, right - self._left
        if self._quarter == 2:
            return self._right - right, bottom - self._bottom, self._right - left, top - self._bottom
        return self._top - top, self._right - right, self._top - bottom, self._right - left

    def lines(self, drawn: int) -> Iterator[Box]:
        """The lines of a path, up to the first that is neither horizontal nor vertical: such a path is not a grid."""
        count = _count_points(drawn)
        if not 1 < count <= POINTS_MAX or not _get_matrix(drawn, self._addresses[0]):
            return
        a, b, c, d, e, f = self._numbers
        before_x = before_y = 0.0
        for index in range(count):
            point = _get_point(drawn, index)
            kind = _get_kind(point)
            _get_place(point, self._addresses[0], self._addresses[1])
            x, y = self._numbers[0], self._numbers[1]
            x, y = a * x + c * y + e, b * x + d * y + f
            if kind == pdfium.FPDF_SEGMENT_LINETO:
                if abs(x - before_x) > THIN_POINTS < abs(y - before_y):
                    return
                yield self.box(min(before_x, x), min(before_y, y), max(before_x, x), max(before_y, y))
            elif kind != pdfium.FPDF_SEGMENT_MOVETO:
                return
            before_x, before_y = x, y
