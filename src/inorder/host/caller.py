"""Warnings that name a line of the program that uses this package."""

import sys
from types import FrameType
from warnings import warn

_PACKAGE = __name__.partition(".")[0]


def warn_caller(message: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn of the line that has called into this package, however deep the calls are."""
    level = 1
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        level, frame = level + 1, frame.f_back
    warn(message, category, stacklevel=level)
