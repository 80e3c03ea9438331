"""The layout of DATA: where the runner keeps its files, and which paths an item may publish."""

import contextlib
import os
import stat
from errno import EACCES, EEXIST, EINVAL, ELOOP, ENAMETOOLONG, ENOTDIR, EPERM, EROFS

from inorder.errors import InfrastructureError, OperatorError
from inorder.host.filesystem import SystemFilesystem
from inorder.host.paths import find_path_problem
from inorder.host.system import require_posix

RESERVED_FOLDERS = ("manifests", "journal", "telemetry", "attempts", "locks", "cache", ".staging")
"""Folders of DATA that belong to the runner."""
FINGERPRINT_SUFFIX = ".fp.json"
"""Added to the path of an item's first output, it gives the path of its fingerprint."""
_NAME_BYTES_MAX = 255
"""The limit of common filesystems. An output needs room for the suffix of its fingerprint."""
_PATH_BYTES_MAX = 4095
"""The limit of Linux for a path in a system call."""
_BAD_PATH = (EACCES, EEXIST, EINVAL, ELOOP, ENAMETOOLONG, ENOTDIR, EPERM, EROFS)
"""Errors that another path avoids."""
_EARLIER = ("index.sqlite", "index.draft.sqlite", *(f"store/{stage}.sqlite" for stage in ("doctags", "chunk", "embed")))
"""Files that only earlier versions have written."""
_OTHER_DATA = "choose another directory with --data"
_OWN_PREFIXES = ("library.", "answers.sqlite")
"""What the names of the files directly in DATA begin with that belong to the pipeline."""


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
        require_posix("stages")
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


def list_stages(data: str) -> list[str]:
    """Return the names of all stages that have a manifest or a journal in DATA, sorted."""
    found: set[str] = set()
    for folder, suffix in (("manifests", ".jsonl"), ("journal", ".journal")):
        with contextlib.suppress(OSError):
            names = os.listdir(f"{data}/{folder}")
            found |= {name.removesuffix(suffix) for name in names if name.endswith(suffix)}
    return sorted(found - {""})


def create_option_folder(option: str, path: str | os.PathLike[str]) -> None:
    """Create a folder that an option names. Raises OperatorError if that is impossible."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise OperatorError(
            f"{option} cannot be used: {_shorten(os.fspath(path))}: {error.strerror or error}"
        ) from error


def require_current_data(data: str) -> None:
    """Raise OperatorError if DATA was written by an earlier version, which had a database per stage and one for the
    index. Nothing converts it, so that nothing is read wrongly or half written."""
    for name in _EARLIER:
        if os.path.exists(f"{data}/{name}"):
            raise OperatorError(
                f"{data}/{name} was written by an earlier version of inorder; remove DATA and run again, or use that"
                " version"
            )


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


def is_reserved(path: str) -> bool:
    """Whether a path relative to DATA cannot be an output: it lies in a folder of the runner, belongs to the library,
    or would look like a file of an earlier version."""
    top, _, below = path.partition("/")
    return top in RESERVED_FOLDERS or path in _EARLIER or (not below and top.startswith(_OWN_PREFIXES))


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
