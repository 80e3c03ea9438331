"""Where things lie in DATA, and which paths an item may publish."""

import contextlib
import os
import stat
from pathlib import Path

from inorder.host.paths import find_path_problem

RESERVED = ("manifests", "journal", "telemetry", "attempts", "locks", "cache", ".staging")
"""Folders of DATA that are the runner's."""
_INDEX = ("index.sqlite", "index.draft.sqlite", "index.vectors.")
"""What the files of the index begin with."""
_NAME_BYTES_MAX = 255 - len(".fp.json")
"""What filesystems take, less what the name of a fingerprint adds."""


class Places:
    """The runner's own paths for one stage."""

    def __init__(self, data: str, stage: str) -> None:
        self.data = os.path.abspath(data)
        self.manifest = f"{self.data}/manifests/{stage}.jsonl"
        self.journal = f"{self.data}/journal/{stage}.journal"
        self.lock = f"{self.data}/locks/{stage}.lock"
        self.cache = f"{self.data}/cache/{stage}.sqlite"
        self.staging = f"{self.data}/.staging/{stage}"

    def telemetry(self, run_id: str) -> str:
        """What was measured."""
        return f"{self.data}/telemetry/{run_id}.jsonl"

    def attempts(self, run_id: str) -> str:
        """When each attempt began and ended."""
        return f"{self.data}/attempts/{run_id}.jsonl"

    def make(self) -> None:
        """Make the folders."""
        for path in (self.manifest, self.journal, self.lock, self.cache):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        os.makedirs(self.staging, exist_ok=True)


def output_path(data: str, path: str | Path) -> str:
    """An output relative to DATA. Raises ValueError, with the reason, for one that must not be published there."""
    text = os.fspath(path)
    if os.path.isabs(text):
        relative = os.path.relpath(text, data)
        if relative.split(os.sep)[0] == os.pardir:
            raise ValueError(f"the output {text} lies outside of DATA ({data})")
        text = relative
    text = text.replace(os.sep, "/")
    reason = find_path_problem(text)
    if reason:
        raise ValueError(f"the output {text!r} cannot be published in DATA: {reason}")
    parts = text.split("/")
    if is_reserved(text):
        raise ValueError(f"the output {text!r} lies in a folder of DATA that is not for outputs")
    if max(len(part.encode()) for part in parts) > _NAME_BYTES_MAX:
        raise ValueError(f"the output {text!r} has a name of more than {_NAME_BYTES_MAX} bytes")
    return text


def is_reserved(path: str) -> bool:
    """Whether a path in DATA is the runner's or the index's, and not for outputs."""
    top, _, below = path.partition("/")
    return top in RESERVED or (not below and top.startswith(_INDEX))


def what_blocks(data: str, path: str) -> str | None:
    """Why an output cannot be put at this relative path, as things are; None: it can."""
    place = f"{data}/{path}"
    if os.path.isdir(place):
        return f"there is a folder where the output {path!r} should be"
    while len(place := os.path.dirname(place)) > len(data):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # look further up; others may be making it now
            if stat.S_ISDIR(os.stat(place).st_mode):
                return None
            return f"there is a file where the folder of the output {path!r} should be"
    return None
