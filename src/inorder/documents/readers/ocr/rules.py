"""Finds the rules of tables in the pixels of a page: long dark lines, one or a few pixels wide."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from inorder.documents.readers.pdf.graphics import merge_rules
from inorder.documents.readers.pdf.render import Pixels
from inorder.documents.readers.pdf.segments import Graphics, Rule

DARK_MAX = 140
"""Brightness of a pixel of a rule."""
ACROSS_POINTS_MIN = 30.0
DOWN_POINTS_MIN = 18.0
"""Letters are lower."""
WIDTH_POINTS_MAX = 3.0
"""What is wider is a picture or a shade."""
RUNS_MAX = 4_000
"""A page with more is a photograph."""


def find_rules(pixels: Pixels, scale: float) -> Graphics:
    """The horizontal and vertical rules of a page. `scale` is in pixels per point."""
    dark = pixels.max(axis=2) < DARK_MAX
    across = list(_find_runs(dark, scale, ACROSS_POINTS_MIN))
    down = list(_find_runs(dark.T, scale, DOWN_POINTS_MIN))
    return Graphics(merge_rules(across) if across else [], merge_rules(down) if down else [])


def _find_runs(dark: npt.NDArray[np.bool_], scale: float, points_min: float) -> Iterator[Rule]:
    """Runs of dark pixels in rows, of at least this length, that are not as wide as a shade."""
    length, width = max(2, round(points_min * scale)), max(1, round(WIDTH_POINTS_MAX * scale))
    if dark.shape[1] <= length or dark.shape[0] <= width:
        return
    edges = np.zeros((dark.shape[0], 1), np.int32)
    sums = np.concatenate((edges, np.cumsum(dark, axis=1, dtype=np.int32)), axis=1)
    begins = sums[:, length:] - sums[:, :-length] == length
    found = 0
    for row in np.flatnonzero(begins.any(axis=1)):
        changes = np.flatnonzero(np.diff(begins[row].astype(np.int8), prepend=0, append=0))
        for start, end in zip(changes[0::2], changes[1::2], strict=True):
            found += 1
            if found > RUNS_MAX:
                return
            stop, middle = end - 1 + length, (start + end - 1 + length) // 2
            above, below = dark[max(0, row - width) : row, middle], dark[row + 1 : row + 1 + width, middle]
            if above.sum() + below.sum() < width:
                yield (float(row) + 0.5) / scale, float(start) / scale, float(stop) / scale
