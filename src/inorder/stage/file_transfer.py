"""File transfer: sends the inputs of items to workers on other machines, and takes in their outputs.

A node that sees the driver's files reads inputs in place and writes to the same staging, as a local process does. To
any other node the inputs are sent with the item, into a folder of that item alone, and its outputs come back with the
result into the driver's staging. An item that is too large to send, or that reads a whole folder, runs on the driver.
"""

import os
import pickle
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from inorder.engines.attempt import Skip, classify_error
from inorder.engines.error_table import Classify
from inorder.errors import InfrastructureError
from inorder.host.filesystem import make_directories
from inorder.host.regular_file import read_regular
from inorder.host.temporary_folder import TemporaryFolder, remove_abandoned_folders

from .contracts import StageError
from .files.file_stat import FileStat
from .fingerprints import resolve_outputs
from .inputs import AddressedInput, list_files, read_content
from .worker import StageResult, StageTask, StageWork

_MARKER = "mark"


class SentFile(NamedTuple):
    """A file that is sent with an item: its path in the item's folder, and its content."""

    path: str
    content: bytes


class SentItem(NamedTuple):
    """An item as it is sent to a node."""

    task: StageTask
    paths: dict[str, str] = {}  # noqa: RUF012
    """The path of each input on the driver."""
    files: list[SentFile] | None = None
    """The files that the item needs; None: the node sees the driver's files."""


class SentResult(NamedTuple):
    """A result as it is sent back, with the content of every staged file."""

    result: StageResult
    contents: list[Any]


class StageFileTransfer:
    """The driver's side: prepares items to be sent, and takes in results. Implements `ray.packing.FileTransfer`."""

    def __init__(
        self,
        data: str,
        staging: str,
        send_bytes_max: int,
        *,
        fingerprinting: bool = True,
    ) -> None:
        self._data = data
        self._staging = staging
        self._send_bytes_max = send_bytes_max
        self._fingerprinting = fingerprinting
        self.marker_secret = os.urandom(16).hex()
        self.marker_path = f"{staging}/{_MARKER}-{self.marker_secret[:8]}"

    def prepare(self) -> None:
        """Write the marker file. A node that reads the secret in it sees DATA."""
        Path(self.marker_path).write_text(self.marker_secret, encoding="ascii")

    def pack_item(self, item: Any, *, sees_files: bool) -> tuple[Any, int] | None:
        """Return the item as it is sent, with its files unless the node sees them, and the number of bytes; None: it
        cannot be sent."""
        task: StageTask = item
        if task.skip:
            return SentItem(task), 0
        outputs = task.item.outputs if sees_files else self._resolve_outputs(task)
        paths = list_files(task.item.inputs)
        stats = {name: FileStat.read(path) for name, path in paths.items()}
        absolute = {name: os.path.abspath(path) for name, path in paths.items()}
        task = task._replace(stats=stats)
        task, sent = _attach_contents(
            task, {name: each for name, each in _list_addressed(task).items() if each.is_sent}
        )
        if sent > self._send_bytes_max:
            return None
        if sees_files:
            return SentItem(_replace_inputs(task, absolute), paths), sent
        reads = self._list_reads(task)
        if reads is None or any(map(os.path.isdir, absolute.values())):
            return None
        addressed = _list_addressed(task).items()
        parts = {name: each for name, each in addressed if each.is_local and each.content is None}
        size = sent + sum(map(os.path.getsize, reads))
        size += sum(stat.size for stat in stats.values()) + sum(part.size for part in parts.values())
        if size > self._send_bytes_max:
            return None
        files = [
            SentFile(self._remote_path(number, path), read_regular(path))
            for number, path in enumerate(absolute.values())
        ]
        inputs = {name: file.path for name, file in zip(absolute, files, strict=True)}
        files += [SentFile(self._remote_path(-1, path), read_regular(path)) for path in reads]
        for name, path in paths.items():
            if FileStat.read(path).signature != stats[name].signature:
                raise StageError(f"the input {path} changed while it was read", category="io", retryable=True)
        task, _ = _attach_contents(task, parts)
        return SentItem(_replace_fields(_replace_inputs(task, inputs), outputs=outputs), paths, files), size

    def _resolve_outputs(self, task: StageTask) -> dict[str, str]:
        """Return the outputs relative to DATA, which lies elsewhere on the node. Obstacles are visible only here."""
        try:
            return resolve_outputs(self._data, task.item.outputs, fingerprinting=self._fingerprinting)
        except ValueError as error:
            raise StageError(str(error), category="config", item_id=task.item.item_id) from None

    def _list_reads(self, task: StageTask) -> list[str] | None:
        """List the files that the item reads in DATA, as far as they exist; None: one of them is a folder."""
        paths = [os.path.abspath(f"{self._data}/{os.fspath(path)}") for path in task.item.reads]
        found = [path for path in paths if os.path.exists(path)]
        can_be_sent = all(os.path.isfile(path) and path.startswith(f"{self._data}/") for path in found)
        return found if can_be_sent else None

    def unpack_value(self, value: Any) -> Any:
        """Return a result with its files in the staging of this machine."""
        if not isinstance(value, SentResult):
            return value
        files = zip(value.result.staged, value.contents, strict=True)
        return value.result._replace(staged=[self._write_staged(path, content) for path, content in files])

    def _remote_path(self, number: int, path: str) -> str:
        """Return the path of a file in the item's folder: a file of DATA keeps its path, any other its name."""
        if path.startswith(f"{self._data}/"):
            return f"data/{path[len(self._data) + 1 :]}"
        return f"inputs/{number}/{os.path.basename(path)}"

    def _write_staged(self, remote: str, content: Any) -> str:
        path = f"{self._staging}/{os.path.basename(remote)}"
        try:
            Path(path).write_bytes(content)
        except OSError as error:
            raise InfrastructureError(f"a result cannot be written to {self._staging}: {error}") from error
        return path


def _list_addressed(task: StageTask) -> dict[str, AddressedInput]:
    """The inputs that are no files."""
    return {name: each for name, each in task.item.inputs.items() if isinstance(each, AddressedInput)}


def _attach_contents(task: StageTask, inputs: Mapping[str, AddressedInput]) -> tuple[StageTask, int]:
    """Return a task in which these inputs have their content, and its size."""
    contents = {name: msgspec.structs.replace(each, content=read_content(each)) for name, each in inputs.items()}
    size = sum(len(each.content or b"") for each in contents.values())
    return _replace_fields(task, inputs={**task.item.inputs, **contents}), size


def _replace_inputs(task: StageTask, paths: Mapping[str, str]) -> StageTask:
    """Return a task whose inputs that are files have these paths."""
    return _replace_fields(task, inputs={name: paths.get(name, each) for name, each in task.item.inputs.items()})


def _replace_fields(task: StageTask, **fields: Any) -> StageTask:
    return task._replace(item=msgspec.structs.replace(task.item, **fields))


def _get_task(sent: SentItem | StageTask) -> StageTask:
    return sent.task if isinstance(sent, SentItem) else sent


def _has_no_files(sent: SentItem | StageTask) -> bool:
    return not (isinstance(sent, SentItem) and sent.files)


class RemoteWork:
    """The node's side, in a worker process: does what `StageWork` does, with the files that were sent."""

    def __init__(self, work: StageWork) -> None:
        self._work = work
        self._has_cleaned_up = False

    def __repr__(self) -> str:
        return repr(self._work)

    @property
    def lookahead(self) -> "RemoteWork | None":
        """As that of `StageWork`. An item with files is read on its own, in its folder."""
        return None if self._work.lookahead is None else self

    def count(self, items: Sequence[SentItem | StageTask]) -> int:
        """How many of these items form a group."""
        tasks = list(map(_get_task, takewhile(_has_no_files, items)))
        return self._work.count(tasks) if tasks else 1

    def read(self, items: Sequence[SentItem | StageTask]) -> None:
        """Called before the first of them."""
        self._work.read(list(map(_get_task, items)))

    def __call__(self, sent: SentItem | StageTask) -> Any:
        """Run one item."""
        if not isinstance(sent, SentItem):  # on the driver's machine
            return self._work(sent)
        if sent.files is None:
            self._require_same_inputs(sent)
            return _restore_paths(self._work(sent.task), sent, sent.task)
        if not self._has_cleaned_up:
            self._has_cleaned_up = True
            remove_abandoned_folders()
        with TemporaryFolder() as folder:
            return self._run_in_folder(folder, sent)

    def _require_same_inputs(self, sent: SentItem) -> None:
        """Require that the node sees the inputs as the driver does."""
        for name, stat in sent.task.stats.items():
            try:
                seen = FileStat.read(os.fspath(sent.task.item.inputs[name]))
            except OSError:
                seen = None
            if seen is None or (seen.size, seen.mtime_ns) != (stat.size, stat.mtime_ns):
                raise StageError(
                    f"this node does not see the input {sent.paths[name]} as the driver does; put it on storage that "
                    "all nodes share, or send files with --set ray_files=send",
                    category="io",
                    retryable=True,
                    item_id=sent.task.item.item_id,
                )

    def _run_in_folder(self, folder: str, sent: SentItem) -> Any:
        for file in sent.files or ():
            path = f"{folder}/{file.path}"
            make_directories(os.path.dirname(path))
            Path(path).write_bytes(file.content)
        inputs = {name: f"{folder}/{path}" for name, path in list_files(sent.task.item.inputs).items()}
        task = _replace_inputs(sent.task, inputs)
        driver_paths = {path: sent.paths[name] for name, path in inputs.items()}
        driver_paths[f"{folder}/data"] = self._work.data
        try:
            result = self._work.with_data(f"{folder}/data")(task)
        except Exception as error:
            translated = _translate_error(error, folder, driver_paths, self._work.classify)
            if translated is error:
                raise
            raise translated from None  # its detail is the traceback, with the paths of the driver
        result = _restore_paths(result, sent, task, driver_paths)
        if isinstance(result, Skip):
            return result
        return SentResult(result, [pickle.PickleBuffer(read_regular(path)) for path in result.staged])


def _restore_paths(value: Any, sent: SentItem, task: StageTask, driver_paths: dict[str, str] | None = None) -> Any:
    """Return a result with inputs and warnings that have the paths of the driver."""
    result: StageResult = value.value if isinstance(value, Skip) else value
    names = {os.fspath(path): name for name, path in task.item.inputs.items()}
    inputs = [(sent.paths[names[path]], sent.task.stats[names[path]], digest) for path, _, digest in result.inputs]
    warnings = [_replace_paths(driver_paths or {}, warning) for warning in result.warnings]
    result = result._replace(inputs=inputs, warnings=warnings)
    return value._replace(value=result) if isinstance(value, Skip) else result


def _translate_error(
    error: Exception, folder: str, driver_paths: dict[str, str], classify: Classify | None
) -> Exception:
    """Return the failure of an item with the paths of the driver: the item's folder means nothing to the user."""
    if isinstance(error, OSError) and isinstance(error.filename, str):  # keep its type: the disk may be full
        error.filename = _replace_paths(driver_paths, error.filename)
    failure = classify_error(error, classify)
    if folder not in failure.message + failure.detail:
        return error
    message, detail = _replace_paths(driver_paths, failure.message), _replace_paths(driver_paths, failure.detail)
    translated = StageError(
        message,
        category=failure.category.value,
        retryable=failure.retryable,
        retry_after_s=failure.wait_ms / 1000,
        stage=failure.stage,
        item_id=failure.item_id,
    )
    translated.formatted_traceback = detail
    return translated


def _replace_paths(driver_paths: dict[str, str], text: str) -> str:
    for path, driver_path in driver_paths.items():
        text = text.replace(path, driver_path)
    return text
