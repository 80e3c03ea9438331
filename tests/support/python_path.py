"""Modules of a test for the processes that it starts."""

import os
from pathlib import Path


def prepend_path(*folders: Path) -> str:
    """A PYTHONPATH with these folders first. What this process was given stays: it may name the sources under test."""
    return os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])])
