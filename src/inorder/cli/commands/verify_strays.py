"""Files in DATA that no run has left there on purpose."""

import os
import sqlite3
from collections.abc import Iterable, Iterator

from inorder.cli.commands.verify import Problem
from inorder.stage.data_layout import FINGERPRINT_SUFFIX, is_reserved

ORPHANED, LEFTOVER = "orphaned", "leftover"


class Names:
    """Every path that some row names; on the disk where it does not fit."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA synchronous=OFF")
        self._database.execute("PRAGMA journal_mode=OFF")
        self._database.execute("CREATE TABLE names (path TEXT PRIMARY KEY) WITHOUT ROWID")
        self._database.execute("BEGIN")

    def add(self, paths: Iterable[str]) -> None:
        """These are named."""
        self._database.executemany("INSERT OR IGNORE INTO names VALUES (?)", ((path,) for path in paths))

    def __contains__(self, path: str) -> bool:
        return self._database.execute("SELECT 1 FROM names WHERE path = ?", (path,)).fetchone() is not None


def strays(root: str, names: Names) -> Iterator[Problem]:
    """Outputs that nobody names, and what interrupted runs have left in staging."""
    for path in files_in(root, ""):
        top = path.split("/")[0]
        if top == ".staging":
            yield Problem(
                LEFTOVER, _stage_of(path), path, "a run that was interrupted left it; the next run removes it"
            )
        elif top == "journal" and path.endswith(".new"):
            yield Problem(LEFTOVER, "", path, "a run that was interrupted left it; the next run replaces it")
        elif not is_reserved(path) and path.removesuffix(FINGERPRINT_SUFFIX) not in names and path not in names:
            yield Problem(ORPHANED, "", _printable(path), "no row of any manifest names it")


def files_in(root: str, folder: str) -> Iterator[str]:
    """Every file beneath a folder of DATA, relative to DATA, in order."""
    with os.scandir(os.path.join(root, folder)) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        path = f"{folder}/{entry.name}" if folder else entry.name
        if entry.is_dir(follow_symlinks=False):
            yield from files_in(root, path)
        else:
            yield path


def _stage_of(path: str) -> str:
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else ""


def _printable(path: str) -> str:
    return path.encode("utf-8", "backslashreplace").decode()
