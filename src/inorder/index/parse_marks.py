"""Marks of the files that are being parsed. A grammar may crash or take too long: its process ends, but the mark stays,
and the next attempt at the file does without the grammar.

The name of a mark says which file is meant. To create and remove a file for each parse would take longer than many a
parse, so each thread has one file, with the name of the mark that it has set. That file gets the name of the mark if
the parse fails and the process goes on. A first attempt looks for no mark.
"""

import contextlib
import os
import threading
import uuid
from collections.abc import Iterator

_PREFIX = "parsing-"
_PROCESS = uuid.uuid4().hex
"""Distinguishes processes of several machines that share a folder; copies of a process have another number."""


@contextlib.contextmanager
def mark_parsing(marker: str) -> Iterator[None]:
    """Set a mark, and remove it after the block, unless the block raises. `marker` is the path of the mark: a name that
    begins with `parsing-`, in a folder that exists."""
    folder, name = os.path.split(marker)
    path = f"{folder}/{_PREFIX}{_PROCESS}-{os.getpid()}-{threading.get_ident()}"
    content = name.encode()
    file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644)
    try:
        os.pwrite(file, content, 0)
        yield
        os.pwrite(file, b" " * len(content), 0)
    except BaseException:
        os.replace(path, marker)
        raise
    finally:
        os.close(file)


def is_marked(marker: str) -> bool:
    """Whether a block with this mark has not come to its end."""
    folder, name = os.path.split(marker)
    return any(_read_mark(f"{folder}/{each}") == name for each in os.listdir(folder) if each.startswith(_PREFIX))


def _read_mark(path: str) -> str:
    """The mark that is set in a file; empty: none, or the file was removed meanwhile."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except FileNotFoundError:
        return ""
