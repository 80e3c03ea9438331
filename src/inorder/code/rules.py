"""What decides whether a file is read as source code, apart from its content.

Python caches, folders of third-party code, and what a `.gitignore` or an `.inorderignore` excludes in its folder and
below, are not. Of a remote source, the names decide what is fetched: objects whose name says no language are not.
"""

import os
from collections.abc import Sequence

from inorder.stage.sources import IGNORE_FILE

from .generated import reason_to_skip
from .languages import language_of

SIZE_MAX = 5_000_000
"""Limit for a file in bytes. A larger one is data, not source code."""
TOO_LARGE = f"larger than {SIZE_MAX:,} bytes"
HEAD_BYTES = 8192
"""How much of a file is read to tell its language and whether to skip it."""
CODE_IGNORE_FILES = (".gitignore", IGNORE_FILE)
"""If both have a rule for a file, the later one wins."""
_THIRD_PARTY_FOLDERS = frozenset(
    ("node_modules", "bower_components", "jspm_packages", "vendor", "third_party", "site-packages")
)
THIRD_PARTY = "third-party code"
IGNORED = "excluded by .gitignore"
"""Why a file is not read that rules exclude as source code, and that is no document: nobody is told of it."""
CACHES = frozenset(("__pycache__",))
"""Names of folders that have no source code."""
_VIRTUAL_ENVIRONMENT_FILE = "pyvenv.cfg"
RULE_FILES = frozenset((*CODE_IGNORE_FILES, _VIRTUAL_ENVIRONMENT_FILE))
"""Names of files that decide how the other files of their folder are read."""


def find_reason_not_fetched(key: str, path: str, size: int) -> str:
    """Return why an object of a remote source is not fetched as source code; empty: it is. The names decide."""
    folders = key.split("/")[:-1]
    if not CACHES.isdisjoint(folders) or not _THIRD_PARTY_FOLDERS.isdisjoint(folders):
        return THIRD_PARTY
    if not language_of(path, b""):
        return "not fetched: its name says no programming language"
    return TOO_LARGE if size > SIZE_MAX else reason_to_skip(path, b"")


def find_third_party_reason(folder: str, files: Sequence[str]) -> str:
    """Return why a folder with these files is not read as source code; empty: it is."""
    is_third_party = os.path.basename(folder) in _THIRD_PARTY_FOLDERS or _VIRTUAL_ENVIRONMENT_FILE in files
    return THIRD_PARTY if is_third_party else ""
