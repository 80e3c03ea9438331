"""The formats of the databases in DATA, and what happens to those of an earlier version: they are refused.

Nothing converts DATA of an earlier version. Every command that opens DATA, a run of a stage, and `inorder.open` ask
`require_current_data` first, so that nothing is read wrongly or half written.
"""

import os

from inorder.errors import OperatorError

STORE_FORMAT = 2
"""The schema version of `store/STAGE.sqlite`."""
INDEX_FORMAT = 6
"""The schema version of the index and of its draft."""
_INDEXES = ("index.sqlite", "index.draft.sqlite")
_FILES_OF = "doctags"
"""The stage whose results were files in a folder of its name, before there were stores."""
_MAGIC = b"SQLite format 3\0"
_VERSION_AT = 60
"""Where the header of a database has `user_version`, in four bytes."""


def require_current_data(data: str) -> None:
    """Raise OperatorError if DATA, or a part of it, was written by an earlier version. Nothing is locked or changed. A
    damaged database is left to those who read it."""
    for path, current in _list_databases(data):
        require_current(path, _read_format(path), current)
    if _has_result_files(data):
        raise OperatorError(_describe(f"{data}/{_FILES_OF}", "files per document, this is a store"))


def require_current(path: str, found: int, current: int) -> None:
    """Raise OperatorError if a database is of an earlier format. 0 is the format of one that is still empty."""
    if 0 < found < current:
        raise OperatorError(_describe(path, f"format {found}, this is {current}"))


def _describe(path: str, formats: str) -> str:
    remedy = "remove DATA and run again, or use that version"
    return f"{path} was written by an earlier version of inorder ({formats}); {remedy}"


def _list_databases(data: str) -> list[tuple[str, int]]:
    folder = f"{data}/store"
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    stores = [(f"{folder}/{name}", STORE_FORMAT) for name in names if name.endswith(".sqlite")]
    return [*stores, *((f"{data}/{name}", INDEX_FORMAT) for name in _INDEXES)]


def _read_format(path: str) -> int:
    """The format of a database; 0: there is none."""
    try:
        with open(path, "rb", buffering=0) as file:
            head = file.read(_VERSION_AT + 4)
    except OSError:
        return 0
    return int.from_bytes(head[_VERSION_AT:]) if head.startswith(_MAGIC) else 0


def _has_result_files(data: str) -> bool:
    """Whether the built-in stages have written files in place of stores."""
    is_run = os.path.exists(f"{data}/manifests/{_FILES_OF}.jsonl")
    return is_run and os.path.isdir(f"{data}/{_FILES_OF}") and not os.path.exists(f"{data}/store/{_FILES_OF}.sqlite")
