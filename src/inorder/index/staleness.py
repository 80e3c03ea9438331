"""Whether the sources have changed since they were indexed.

A search cannot look at every file of a large source. It looks at the files that it shows, and at the commit that a Git
working tree is on: a few system calls. `inorder plan` compares everything.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from time import time_ns

from inorder.documents.inputs import find_file, is_there
from inorder.host.regular_file import read_regular
from inorder.host.spelling import read_spelling
from inorder.stage.sources import is_address

_NAMED_MAX = 3


def find_changes(roots: Iterable[str], indexed_ns: int, shown: Iterable[str]) -> list[str]:
    """One line per reason to index again. `roots` are where the sources lie, `indexed_ns` is when they were last
    compared with the index, and `shown` are the paths of the files in the answer."""
    paths = list(dict.fromkeys(shown))
    found = {path: read_spelling(path) for path in paths}
    changed = [path for path in paths if _read_time(find_file(found[path])) > indexed_ns]
    gone = [path for path in paths if not is_there(found[path])]
    lines = [
        f"{_list_some(some)} {verb} since the index was made; run `inorder run SRC` to update it"
        for some, verb in ((changed, "changed"), (gone, "was removed" if len(gone) == 1 else "were removed"))
        if some
    ]
    local = sorted({root for root in roots if not is_address(root)})
    moved = list(dict.fromkeys(tree for root in local for tree in _find_moved_trees(root, indexed_ns)))
    return lines + [f"{tree} is on another commit than when it was indexed; run `inorder run SRC`" for tree in moved]


def _list_some(paths: list[str]) -> str:
    more = f" and {len(paths) - _NAMED_MAX} more" if len(paths) > _NAMED_MAX else ""
    return ", ".join(paths[:_NAMED_MAX]) + more


def _find_moved_trees(root: str, indexed_ns: int) -> Iterator[str]:
    """The Git working tree of a source, if its commit has changed."""
    for folder in (Path(root), *Path(root).parents):
        marker = folder / ".git"
        if not marker.exists():
            continue
        if _read_time(_find_head_log(marker)) > indexed_ns:
            yield str(folder)
        return


def _find_head_log(marker: Path) -> Path:
    """Git appends to this file whenever another commit is checked out or made. `.git` is a file in a linked tree."""
    try:
        found = read_regular(marker).decode("utf-8")
        marker = marker.parent / found.removeprefix("gitdir:").strip()
    except (OSError, UnicodeDecodeError):  # a folder, in most cases
        pass
    return marker / "logs" / "HEAD"


def _read_time(path: str | os.PathLike[str]) -> int:
    """When a file was modified; 0 if that cannot be known. Of a file that is dated in the future, the system knows only
    when it was changed in any way."""
    try:
        found = os.stat(path)
    except OSError:
        return 0
    return found.st_mtime_ns if found.st_mtime_ns <= time_ns() else found.st_ctime_ns
