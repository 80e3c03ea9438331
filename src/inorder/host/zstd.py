"""Zstandard, from the standard library where it has it."""

import importlib
import sys
from functools import cache
from typing import Any


@cache
def load_zstd() -> Any:
    """The module `compression.zstd`, or `backports.zstd`, which is the same for older versions of Python."""
    return importlib.import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
