"""Files on their way to workers on other machines, and back.

A node that sees the driver's files works on them as a local process does: it reads inputs where they are and writes to
the same staging. To any other node the inputs travel with the item, into a folder that is there for this item alone,
and what it makes travels back with the result, into the driver's staging. What cannot travel, because it is too large
or a whole folder, is done at home.
"""

import contextlib
import os
import pickle
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from inorder.engines.attempt import Skip
from inorder.errors import InfrastructureError

from .contracts import StageError, WorkItem
from .look import Look
from .places import output_path
from .work import Result, StageTask, StageWork

_MARK = "mark"


class File(NamedTuple):
    """A file that was sent along: where it goes in the folder of its item, and its content."""

    place: str
    content: bytes


class Sent(NamedTuple):
    """An item as it travels."""

    task: StageTask
    looks: dict[str, Look] = {}  # noqa: RUF012
    """What the driver sees of each input."""
    paths: dict[str, str] = {}  # noqa: RUF012
    """Where each input is with the driver."""
    files: list[File] | None = None
    """What it needs; None: it finds everything where the driver has it."""


class Brought(NamedTuple):
    """A result, and the content of every file that came of it."""

    result: Result
    contents: list[Any]


class Parcels:
    """On the driver: sends items, and takes in results. Implements `engines.ray.Courier`."""

    def __init__(self, data: str, staging: str, send_bytes_max: int) -> None:
        self._data = data
        self._staging = staging
        self._send_bytes_max = send_bytes_max
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
        paths = {name: os.fspath(path) for name, path in task.item.inputs.items()}
        looks = {name: Look.at(path) for name, path in paths.items()}
        if sees_files:
            return Sent(task, looks, paths), 0
        reads = [os.fspath(place) for place in task.item.reads]
        needed = [f"{self._data}/{place}" for place in reads if os.path.exists(f"{self._data}/{place}")]
        size = sum(look.size for look in looks.values()) + sum(map(os.path.getsize, needed))
        if size > self._send_bytes_max or any(os.path.isdir(path) for path in needed):
            return None
        files = [File(self._place(number, path), _read(path)) for number, path in enumerate(paths.values())]
        files += [File(self._place(-1, path), _read(path)) for path in needed]
        for name, path in paths.items():
            if Look.at(path).facts != looks[name].facts:
                raise StageError(f"the input {path} changed while it was read", category="io", retryable=True)
        inputs = {name: file.place for name, file in zip(paths, files, strict=False)}
        outputs = _relative(self._data, task.item)
        travelling = msgspec.structs.replace(task.item, inputs=inputs, outputs=outputs)
        return Sent(task._replace(item=travelling), looks, paths, files), size

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


def _relative(data: str, item: WorkItem) -> Mapping[str, str | Path]:
    """Outputs as paths in DATA, wherever that is. What must not be published there stays, and is refused later."""
    found = dict(item.outputs)
    for name, path in item.outputs.items():
        with contextlib.suppress(ValueError):
            found[name] = output_path(data, path)
    return found


class RemoteWork:
    """In a worker process on a node: does what `StageWork` does, with the files that came along."""

    def __init__(self, work: StageWork) -> None:
        self._work = work

    def __repr__(self) -> str:
        return repr(self._work)

    def __call__(self, sent: Sent | StageTask) -> Any:
        """Do one item."""
        if not isinstance(sent, Sent):  # done at home
            return self._work(sent)
        if sent.files is None:
            self._require_seen(sent)
            return self._work(sent.task)
        with _folder() as place:
            return self._work_in(place, sent)

    def _require_seen(self, sent: Sent) -> None:
        """The node sees what the driver sees."""
        for name, look in sent.looks.items():
            path = sent.paths[name]
            try:
                seen = Look.at(path)
            except OSError:
                seen = None
            if seen is None or (seen.size, seen.mtime_ns) != (look.size, look.mtime_ns):
                raise StageError(
                    f"this node does not see the input {path} as the driver does; put it on storage that all nodes "
                    "share, or have files sent: --ray-files send",
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
        item = sent.task.item
        inputs = {name: f"{place}/{where}" for name, where in item.inputs.items()}
        task = sent.task._replace(item=msgspec.structs.replace(item, inputs=inputs))
        made = self._work.elsewhere(f"{place}/data")(task)
        result: Result = made.value if isinstance(made, Skip) else made
        back = {path: name for name, path in inputs.items()}
        looked = [(sent.paths[back[path]], sent.looks[back[path]], digest) for path, _, digest in result.inputs]
        result = result._replace(inputs=looked)
        if isinstance(made, Skip):
            return made._replace(value=result)
        return Brought(result, [pickle.PickleBuffer(_read(path)) for path in result.staged])


@contextlib.contextmanager
def _folder() -> Iterator[str]:
    """For one item. What a killed worker has left is removed by the next one on its machine."""
    place = tempfile.mkdtemp(prefix=f"inorder-{os.getpid()}-")
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def sweep() -> None:
    """Remove folders of workers that are not there any more."""
    root = tempfile.gettempdir()
    with contextlib.suppress(OSError):
        for name in os.listdir(root):
            parts = name.split("-")
            if parts[0] == "inorder" and len(parts) == 3 and parts[1].isdecimal() and not _is_running(int(parts[1])):
                shutil.rmtree(f"{root}/{name}", ignore_errors=True)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
