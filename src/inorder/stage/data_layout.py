"""The layout of DATA: where the runner keeps its files, and which paths an item may publish."""

import contextlib
import os
import stat
from errno import EACCES, EEXIST, EINVAL, ELOOP, ENAMETOOLONG, ENOTDIR, EPERM, EROFS

from inorder.errors import InfrastructureError, OperatorError
from inorder.host.filesystem import SystemFilesystem
from inorder.host.paths import find_path_problem

RESERVED_FOLDERS = ("manifests", "journal", "telemetry", "attempts", "locks", "cache", ".staging")
"""Folders of DATA that belong to the runner."""
FINGERPRINT_SUFFIX = ".fp.json"
"""Added to the path of an item's first output, it gives the path of its fingerprint."""
_NAME_BYTES_MAX = 255 - len(FINGERPRINT_SUFFIX)
"""The limit of common filesystems, less the suffix."""
_BAD_PATH = (EACCES, EEXIST, EINVAL, ELOOP, ENAMETOOLONG, ENOTDIR, EPERM, EROFS)
"""Errors that another path avoids."""
_OTHER_DATA = "choose another directory with --data"
_reserved_prefixes: set[str] = set()


class DataLayout:
    """The runner's paths for one stage."""

    def __init__(self, data: str, stage: str) -> None:
        self.data = os.path.abspath(data)
        self.manifest = f"{self.data}/manifests/{stage}.jsonl"
        self.journal = f"{self.data}/journal/{stage}.journal"
        self.lock = f"{self.data}/locks/{stage}.lock"
        self.live = f"{self.data}/locks/{stage}.live.json"
        self.cache = f"{self.data}/cache/{stage}.sqlite"
        self.staging = f"{self.data}/.staging/{stage}"

    def telemetry_path(self, run_id: str, folder: str | os.PathLike[str] | None = None) -> str:
        """Events and metrics of one run, in a folder of the user's or in DATA."""
        return f"{os.fspath(folder) if folder is not None else f'{self.data}/telemetry'}/{run_id}.jsonl"

    def attempts_path(self, run_id: str) -> str:
        """The attempt log of one run."""
        return f"{self.data}/attempts/{run_id}.jsonl"

    def create_folders(self, *, is_durable: bool = False) -> None:
        """Create the folders that every run needs. `is_durable`: a folder that is new survives a power loss. Raises
        OperatorError if DATA is no usable path."""
        filesystem = SystemFilesystem()
        try:
            new = [path for path in (self.manifest, self.journal) if not os.path.isdir(os.path.dirname(path))]
            for path in (self.manifest, self.journal, self.lock, self.cache):
                os.makedirs(os.path.dirname(path), exist_ok=True)
            os.makedirs(self.staging, exist_ok=True)
            if is_durable and new:
                filesystem.sync_directory(self.data)
                filesystem.sync_directory(os.path.dirname(self.data))
        except OSError as error:
            require_directory(self.data)
            message = f"DATA cannot be used: {_shorten(self.data)}: {error.strerror or error}"
            if error.errno in _BAD_PATH:
                raise OperatorError(f"{message}; {_OTHER_DATA}") from error
            raise InfrastructureError(message) from error


def create_option_folder(option: str, path: str | os.PathLike[str]) -> None:
    """Create a folder that an option names. Raises OperatorError if that is impossible."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise OperatorError(
            f"{option} cannot be used: {_shorten(os.fspath(path))}: {error.strerror or error}"
        ) from error


def require_directory(data: str) -> None:
    """Raise OperatorError if DATA, or a parent of it, exists and is not a directory."""
    place = os.path.abspath(data)
    while not os.path.lexists(place):
        place = os.path.dirname(place)
    if not os.path.isdir(place):
        raise OperatorError(f"DATA cannot be used: {_shorten(place)} is not a directory; {_OTHER_DATA}")


def _shorten(path: str) -> str:
    """Return a path below the current directory relative to it, and any other path as it is."""
    here = os.path.join(os.getcwd(), "")
    return path.removeprefix(here)


def reserve_files(*prefixes: str) -> None:
    """Reserve the files directly in DATA whose names start with one of the prefixes. For a layer above that writes
    files of its own there. Idempotent; worker processes reserve the same files as the process that runs the stage."""
    _reserved_prefixes.update(prefixes)


def reserved_prefixes() -> tuple[str, ...]:
    """Every prefix that was passed to `reserve_files`."""
    return tuple(sorted(_reserved_prefixes))


def is_reserved(path: str) -> bool:
    """Whether a path relative to DATA cannot be an output: it lies in a folder of the runner or is a reserved file."""
    top, _, below = path.partition("/")
    return top in RESERVED_FOLDERS or (not below and top.startswith(reserved_prefixes()))


def resolve_output(data: str, path: str | os.PathLike[str]) -> str:
    """Return the path of an output relative to DATA. Raises ValueError if it must not be published there."""
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
    if is_reserved(text):
        raise ValueError(f"the output {text!r} cannot be published in DATA: this path is reserved")
    if max(len(part.encode()) for part in text.split("/")) > _NAME_BYTES_MAX:
        raise ValueError(f"the output {text!r} has a name of more than {_NAME_BYTES_MAX} bytes")
    return text


def find_obstacle(data: str, path: str) -> str | None:
    """Return why no output can be published at this relative path now; None: it can."""
    place = f"{data}/{path}"
    if os.path.isdir(place):
        return f"the output {path!r} cannot be published: a folder has its path"
    while len(place := os.path.dirname(place)) > len(data):
        # A missing parent says nothing, and other workers may be creating it now: check the next one up.
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            if stat.S_ISDIR(os.stat(place).st_mode):
                return None
            return f"the output {path!r} cannot be published: one of its parent folders is a file"
    return None
