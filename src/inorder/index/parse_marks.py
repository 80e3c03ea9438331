"""Marks of the files that are being parsed. A grammar may crash or take too long: its process ends, but the mark stays,
and the next attempt at the file does without the grammar. A first attempt looks for no mark."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from inorder.host.regular_file import open_descriptor


@contextmanager
def mark_parsing(marker: str) -> Iterator[None]:
    """Set a mark, and remove it after the block, unless the block raises. `marker` is the path of the mark: a file in a
    folder that exists."""
    os.close(open_descriptor(marker, os.O_CREAT | os.O_WRONLY))
    yield
    os.unlink(marker)


def is_marked(marker: str) -> bool:
    """Whether a block with this mark has not come to its end."""
    return os.path.exists(marker)
