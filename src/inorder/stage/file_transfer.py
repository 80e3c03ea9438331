"""Files on their way to workers on other machines, and back.

A node that sees the driver's files works on them as a local process does: it reads inputs where they are and writes to
the same staging. To any other node the inputs travel with the item, into a folder that is there for this item alone,
and what it makes travels back with the result, into the driver's staging. What cannot travel, because it is too large
or a whole folder, is done at home.
"""

import contextlib
import fcntl
import os
import pickle
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from inorder.engines.attempt import Skip, failure_of
from inorder.errors import InfrastructureError

from .contracts import StageError
from .file_stat import FileStat
from .fingerprints import resolve_outputs
from .worker import StageResult, StageTask, StageWork

_MARK = "mark"
_PREFIX = "inorder-item-"
_YOUNG_S = 60.0
"""A folder is locked within a moment of its making: one that is older and not locked is nobody's."""


class File(NamedTuple):
    """A file that was sent along: where it goes in the folder of its item, and its content."""

    place: str
    content: bytes


class Sent(NamedTuple):
    """An item as it travels."""

    task: StageTask
    looks: dict[str, FileStat] = {}  # noqa: RUF012
    """What the driver sees of each input."""
    paths: dict[str, str] = {}  # noqa: RUF012
    """Where each input is with the driver."""
    files: list[File] | None = None
    """What it needs; None: it finds everything where the driver has it."""


class Brought(NamedTuple):
    """A result, and the content of every file that came of it."""

    result: StageResult
    contents: list[Any]


class Parcels:
    """On the driver: sends items, and takes in results. Implements `engines.ray.Courier`."""

    def __init__(self, data: str, staging: str, send_bytes_max: int, *, fingerprinting: bool = True) -> None:
        self._data = data
        self._staging = staging
        self._send_bytes_max = send_bytes_max
        self._fingerprinting = fingerprinting
        self.secret = os.urandom(16).hex()
        self.mark = f"{staging}/{_MARK}-{self.secret[:8]}"

    def prepare(self) -> None:
        """Write the mark by which a node tells that it sees DATA."""
        with open(self.mark, "w", encoding="ascii") as file:
            file.write(self.secret)

    def depart(self, item: Any, *, sees_files: bool) -> tuple[Any, int] | None:
        """The item, with its files where the node does not see them. None: it cannot travel."""
        task: StageTask = item
        if task.skip:
            return Sent(task), 0
        outputs = task.item.outputs if sees_files else self._outputs(task)
        paths = {name: os.fspath(path) for name, path in task.item.inputs.items()}
        looks = {name: FileStat.at(path) for name, path in paths.items()}
        layout = {name: os.path.abspath(path) for name, path in paths.items()}
        if sees_files:
            return Sent(_with(task, inputs=layout), looks, paths), 0
        needed = self._needed(task)
        if needed is None or any(map(os.path.isdir, layout.values())):
            return None
        size = sum(look.size for look in looks.values()) + sum(map(os.path.getsize, needed))
        if size > self._send_bytes_max:
            return None
        files = [File(self._place(number, path), _read(path)) for number, path in enumerate(layout.values())]
        inputs = {name: file.place for name, file in zip(layout, files, strict=True)}
        files += [File(self._place(-1, path), _read(path)) for path in needed]
        for name, path in paths.items():
            if FileStat.at(path).facts != looks[name].facts:
                raise StageError(f"the input {path} changed while it was read", category="io", retryable=True)
        return Sent(_with(task, inputs=inputs, outputs=outputs), looks, paths, files), size

    def _outputs(self, task: StageTask) -> dict[str, str]:
        """As paths in DATA, wherever that is. What lies in their way there is seen only here."""
        try:
            return resolve_outputs(self._data, task.item.outputs, fingerprinting=self._fingerprinting)
        except ValueError as error:
            raise StageError(str(error), category="config", item_id=task.item.item_id) from None

    def _needed(self, task: StageTask) -> list[str] | None:
        """What the item reads in DATA, as far as it is there. None: there is a folder among it."""
        layout = [os.path.abspath(f"{self._data}/{os.fspath(place)}") for place in task.item.reads]
        found = [place for place in layout if os.path.exists(place)]
        is_whole = all(os.path.isfile(place) and place.startswith(f"{self._data}/") for place in found)
        return found if is_whole else None

    def arrive(self, value: Any) -> Any:
        """The result, with its files in the staging of this machine."""
        if not isinstance(value, Brought):
            return value
        made = zip(value.result.staged, value.contents, strict=True)
        return value.result._replace(staged=[self._stage(path, content) for path, content in made])

    def _place(self, number: int, path: str) -> str:
        """Where a file goes on the node: one of DATA to its place in DATA, any other under its own name."""
        if path.startswith(f"{self._data}/"):
            return f"data/{path[len(self._data) + 1 :]}"
        return f"inputs/{number}/{os.path.basename(path)}"

    def _stage(self, made: str, content: Any) -> str:
        path = f"{self._staging}/{os.path.basename(made)}"
        try:
            with open(path, "wb") as file:
                file.write(content)
        except OSError as error:
            raise InfrastructureError(f"a result cannot be written to {self._staging}: {error}") from error
        return path


def _read(path: str) -> bytes:
    return Path(path).read_bytes()


def _with(task: StageTask, **fields: Any) -> StageTask:
    return task._replace(item=msgspec.structs.replace(task.item, **fields))


class RemoteWork:
    """In a worker process on a node: does what `StageWork` does, with the files that came along."""

    def __init__(self, work: StageWork) -> None:
        self._work = work
        self._has_swept = False

    def __repr__(self) -> str:
        return repr(self._work)

    def __call__(self, sent: Sent | StageTask) -> Any:
        """Do one item."""
        if not isinstance(sent, Sent):  # done at home
            return self._work(sent)
        if sent.files is None:
            self._require_seen(sent)
            return _seen_by_driver(self._work(sent.task), sent, sent.task)
        if not self._has_swept:
            self._has_swept = True
            sweep()
        with _folder() as place:
            return self._work_in(place, sent)

    def _require_seen(self, sent: Sent) -> None:
        """The node sees what the driver sees."""
        for name, look in sent.looks.items():
            try:
                seen = FileStat.at(os.fspath(sent.task.item.inputs[name]))
            except OSError:
                seen = None
            if seen is None or (seen.size, seen.mtime_ns) != (look.size, look.mtime_ns):
                raise StageError(
                    f"this node does not see the input {sent.paths[name]} as the driver does; put it on storage that "
                    "all nodes share, or have files sent: --ray-files send",
                    category="io",
                    retryable=True,
                    item_id=sent.task.item.item_id,
                )

    def _work_in(self, place: str, sent: Sent) -> Any:
        for file in sent.files or ():
            path = f"{place}/{file.place}"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as written:
                written.write(file.content)
        task = _with(sent.task, inputs={name: f"{place}/{where}" for name, where in sent.task.item.inputs.items()})
        words = {os.fspath(path): sent.paths[name] for name, path in task.item.inputs.items()}
        words[f"{place}/data"] = self._work.data
        try:
            made = self._work.elsewhere(f"{place}/data")(task)
        except Exception as error:
            raise _at_home(error, place, words) from error
        made = _seen_by_driver(made, sent, task, words)
        return (
            made
            if isinstance(made, Skip)
            else Brought(made, [pickle.PickleBuffer(_read(path)) for path in made.staged])
        )


def _seen_by_driver(made: Any, sent: Sent, task: StageTask, words: dict[str, str] | None = None) -> Any:
    """A result with inputs, and words about them, as the driver knows them."""
    result: StageResult = made.value if isinstance(made, Skip) else made
    names = {os.fspath(path): name for name, path in task.item.inputs.items()}
    inputs = [(sent.paths[names[path]], sent.looks[names[path]], digest) for path, _, digest in result.inputs]
    result = result._replace(inputs=inputs, warnings=[_said(words or {}, warning) for warning in result.warnings])
    return made._replace(value=result) if isinstance(made, Skip) else result


def _at_home(error: Exception, place: str, words: dict[str, str]) -> Exception:
    """The failure of an item, told with the paths of the driver: nobody knows the folder that it was in."""
    if isinstance(error, OSError) and isinstance(error.filename, str):  # what kind it is matters: the disk may be full
        error.filename = _said(words, error.filename)
    failure = failure_of(error)
    if place not in failure.message + failure.detail:
        return error
    message, detail = _said(words, failure.message), _said(words, failure.detail)
    return StageError(message, category=failure.category.value, retryable=failure.retryable, detail=detail)


def _said(words: dict[str, str], text: str) -> str:
    for word, meant in words.items():
        text = text.replace(word, meant)
    return text


@contextlib.contextmanager
def _folder() -> Iterator[str]:
    """For one item, and locked by whoever is at work there. What a killed worker has left is removed by the next one
    on its machine."""
    place = tempfile.mkdtemp(prefix=_PREFIX)
    lock = os.open(place, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        os.close(lock)


def sweep() -> None:
    """Remove folders of workers that are not there any more."""
    root = tempfile.gettempdir()
    for name in os.listdir(root):
        if name.startswith(_PREFIX):
            with contextlib.suppress(OSError):
                _sweep(f"{root}/{name}")


def _sweep(place: str) -> None:
    lock = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if time.time() - os.fstat(lock).st_mtime >= _YOUNG_S:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(place, ignore_errors=True)
    finally:
        os.close(lock)
