"""The layout of DATA: where the runner keeps its files, and which paths an item may publish."""

import contextlib
import os
import stat
from errno import EACCES, EEXIST, EINVAL, ELOOP, ENAMETOOLONG, ENOTDIR, EPERM, EROFS

from inorder.errors import InfrastructureError, OperatorError
from inorder.host.filesystem import SystemFilesystem
from inorder.host.paths import find_path_problem

from .store.format import require_current_data

RESERVED_FOLDERS = ("manifests", "journal", "telemetry", "attempts", "locks", "cache", "store", ".staging")
"""Folders of DATA that belong to the runner."""
FINGERPRINT_SUFFIX = ".fp.json"
"""Added to the path of an item's first output, it gives the path of its fingerprint."""
_NAME_BYTES_MAX = 255
"""The limit of common filesystems. An output needs room for the suffix of its fingerprint."""
_PATH_BYTES_MAX = 4095
"""The limit of Linux for a path in a system call."""
_BAD_PATH = (EACCES, EEXIST, EINVAL, ELOOP, ENAMETOOLONG, ENOTDIR, EPERM, EROFS)
"""Errors that another path avoids."""
_OTHER_DATA = "choose another directory with --data"
_reserved_prefixes: set[str] = set()


class NameTooLongError(ValueError):
    """The name or the path of an output exceeds a limit of the system."""


class DataLayout:
    """The runner's paths for one stage."""

    def __init__(self, data: str, stage: str) -> None:
        self.data = os.path.abspath(data)
        self.manifest = f"{self.data}/manifests/{stage}.jsonl"
        self.journal = f"{self.data}/journal/{stage}.journal"
        self.lock = f"{self.data}/locks/{stage}.lock"
        self.live = f"{self.data}/locks/{stage}.live.json"
        self.cache = f"{self.data}/cache/{stage}.sqlite"
        self.receipt = f"{self.data}/cache/{stage}.receipt.json"
        self.listing = f"{self.data}/cache/{stage}.listing"
        self.store = f"{self.data}/store/{stage}.sqlite"
        self.staging = f"{self.data}/.staging/{stage}"

    def telemetry_path(self, run_id: str, folder: str | os.PathLike[str] | None = None) -> str:
        """Events and metrics of one run, in a folder of the user's or in DATA."""
        return f"{os.fspath(folder) if folder is not None else f'{self.data}/telemetry'}/{run_id}.jsonl"

    def attempts_path(self, run_id: str) -> str:
        """The attempt log of one run."""
        return f"{self.data}/attempts/{run_id}.jsonl"

    def create_folders(self, *, is_durable: bool = False) -> None:
        """Create the folders that every run needs. `is_durable`: a folder that is new survives a power loss. Raises
        OperatorError if DATA is no usable path, or was written by an earlier version."""
        require_current_data(self.data)
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
    """Return the path of an output relative to DATA. Raises ValueError if it must not be published there, and
    NameTooLongError if the system cannot store it."""
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
    _require_short_names(data, text)
    return text


def _require_short_names(data: str, path: str) -> None:
    """Raise NameTooLongError if no file can have this path in DATA, or none can have that of its fingerprint."""
    reserved = 0 if path.endswith(FINGERPRINT_SUFFIX) else len(FINGERPRINT_SUFFIX)
    name = max(map(len, map(os.fsencode, path.split("/"))))
    if name > _NAME_BYTES_MAX - reserved:
        limit = f"the limit for a name is {_NAME_BYTES_MAX - reserved}"
        raise NameTooLongError(f"file name too long to store its result: {name} bytes with its ending; {limit}")
    size = len(os.fsencode(data)) + 1 + len(os.fsencode(path))
    if size > _PATH_BYTES_MAX - reserved:
        limit = f"the limit for a path is {_PATH_BYTES_MAX - reserved:,}"
        raise NameTooLongError(f"path too long to store its result: {size:,} bytes in DATA; {limit}")


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
