"""One item in its worker: hash the inputs, call the worker function, check the outputs.

`StageWork` is sent to a worker process once, and is called there for every item. It returns what the commit needs, or
raises; it publishes nothing.
"""

import contextlib
import copy
import inspect
import os
import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from inorder.engines.attempt import Skip, escape_surrogates
from inorder.engines.error_table import Classify
from inorder.host.filesystem import SystemFilesystem
from inorder.stage.options import StageOptions

from .context import StageContext, call_hook, stage_file
from .contracts import StageError, WorkItem
from .data_layout import NameTooLongError, resolve_output
from .files.file_stat import FileStat
from .fingerprints import (
    SCHEMA_VERSION,
    Fingerprint,
    OutputRecord,
    checksum_file,
    combine_sha256,
    hash_file,
    locate_fingerprint,
    resolve_outputs,
)
from .inputs import AddressedInput, list_files
from .partial_results import decode_value


class StageTask(NamedTuple):
    """An item, and whether it is up to date."""

    item: WorkItem
    skip: str = ""
    """The reason to skip the item; empty: run it."""
    extras: dict[str, Any] = {}  # noqa: RUF012
    """From the fingerprint of a satisfied item."""
    input_sha256: str = ""
    removals: tuple[str, ...] = ()
    """Files in DATA to remove when the item is committed."""
    partial: bytes | None = None
    """What an earlier attempt handed over."""
    stats: dict[str, FileStat] = {}  # noqa: RUF012
    """The stat of each input on the driver, if another machine runs the item."""

    def offer(self, partial: bytes) -> "StageTask":
        """Return the task with what an earlier attempt handed over."""
        return self._replace(partial=partial)

    def make_skip(self) -> Skip:
        """Return the result of an item that is skipped."""
        return Skip(self.skip, StageResult(self.extras, [], [], self.input_sha256, [], [], [*self.removals]))


class StageResult(NamedTuple):
    """What the runner keeps of an item that did not fail."""

    value: dict[str, Any] | None
    """What the worker returned, as plain data; of an item that is up to date, the extras of its fingerprint."""
    outputs: list[tuple[str, int, int]]
    """Path, size and CRC-32 of every file, the fingerprint last."""
    staged: list[str]
    """The path of each of them in staging."""
    input_sha256: str
    inputs: list[tuple[str, FileStat, str]]
    """Path, stat before the read, and hash of every input; the hash is empty if it was not needed."""
    warnings: list[str]
    removals: list[str] = []  # noqa: RUF012
    """Files in DATA to remove when the item is committed."""
    delivery: Any = None
    """The value for sinks."""
    measures: dict[str, float | str] = {}  # noqa: RUF012
    """What the worker reported to telemetry."""
    input_bytes: int = 0
    """Size of all inputs."""
    fields: dict[str, Any] = {}  # noqa: RUF012
    """What `before_item` added to the row."""

    @property
    def extras(self) -> dict[str, Any]:
        """The fields of the row after the base fields."""
        return self.fields | (self.value or {})

    @property
    def held_bytes(self) -> int:
        """Size of the staged files, which count against the byte budget until they are published."""
        return sum(size for _, size, _ in self.outputs)


class StageWork:
    """Calls the worker function of a stage. Pickled without `resources`."""

    def __init__(
        self,
        worker: Callable[..., Any],
        stage: str,
        options: StageOptions,
        staging: str,
        *,
        before_item: Callable[[WorkItem, Any], None] | None = None,
        worker_setup: Callable[[Any], None] | None = None,
        group_size: Callable[[Sequence[WorkItem]], int] | None = None,
        before_group: Callable[[Sequence[WorkItem], Any], None] | None = None,
        resources: dict[str, Any] | None = None,
    ) -> None:
        self._worker = worker
        self.stage = stage
        self._options = options
        self._staging = staging
        self._before_item = before_item
        self._worker_setup = worker_setup
        self._group_size = group_size
        self._before_group = before_group
        self._resources = resources
        self._setup_errors: list[str] = []
        """What `worker_setup` raised."""
        self._has_context_parameter = _has_context_parameter(worker)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_resources": None}

    @property
    def data(self) -> str:
        """The DATA folder."""
        return os.fspath(self._options.data)

    @property
    def classify(self) -> Classify | None:
        """The user's mapping of exceptions."""
        return self._options.classify

    def with_data(self, data: str) -> "StageWork":
        """Return the same work with another DATA folder. Both share their resources."""
        self._set_up()
        work = copy.copy(self)
        work._options = msgspec.structs.replace(self._options, data=data)
        work._staging = f"{data}/.staging/{self.stage}"
        os.makedirs(work._staging, exist_ok=True)
        return work

    def __repr__(self) -> str:
        return f"the worker of stage {self.stage}"

    @property
    def lookahead(self) -> "StageWork | None":
        """What a worker process calls before a group of items; None: the stage has no groups."""
        return None if self._group_size is None or self._before_group is None else self

    def count(self, tasks: Sequence[StageTask]) -> int:
        """How many of these tasks form a group; one if the hook raises."""
        return call_hook(self._group_size, _ignore, "group_size", [task.item for task in tasks]) or 1

    def read(self, tasks: Sequence[StageTask]) -> None:
        """Called before the first of them. Whatever the hook raises is ignored."""
        call_hook(self._before_group, _ignore, "before_group", [task.item for task in tasks], self.make_context())

    def make_context(self) -> StageContext:
        """A context with the resources that the items of this worker share."""
        return StageContext(self.stage, self._options, self._set_up(), self._staging)

    def __call__(self, task: StageTask) -> Any:
        """Run one item."""
        if task.skip:
            return task.make_skip()
        context = self.make_context()
        try:
            context.partial = None if task.partial is None else decode_value(task.partial)
            result = self._attempt(task, context)
        except BaseException as error:
            _discard(context)
            if isinstance(error, StageError):
                _locate_error(error, self.stage, task.item)
            raise
        if isinstance(result, Skip):
            _discard(context)
        return result

    def _attempt(self, task: StageTask, context: StageContext) -> Any:
        item = task.item
        self._require_valid_outputs(item, context)
        context.item = item
        files = list_files(item.inputs)
        before = {name: FileStat.read(path) for name, path in files.items()}
        context.stats = {**before, **task.stats}
        hashes = self._hash_inputs(item)

        def check_inputs() -> list[tuple[FileStat, str]]:
            self._require_unchanged(item, files, before, hashes)
            return [(stat, hashes.get(name, "")) for name, stat in context.stats.items()]

        context.check_inputs = check_inputs
        self._call_before_item(item, context)
        value = self._worker(item, context) if self._has_context_parameter else self._worker(item)
        if files:
            self._require_unchanged(item, files, before, hashes)
        inputs = [(path, before[name], hashes.get(name, "")) for name, path in files.items()]
        digest = combine_sha256(hashes)
        if isinstance(value, Skip):
            extras = self._encode_extras(item, value.value)
            result = StageResult(
                extras, [], [], digest, inputs, context.warnings, context.removals, fields=context.fields
            )
            return Skip(str(value.reason), result)
        result = StageResult(
            self._encode_extras(item, value),
            [],
            [],
            digest,
            inputs,
            context.warnings,
            context.removals,
            context.delivery,
            context.measures,
            sum(stat.size for stat in before.values()) + _sum_addressed(item),
            context.fields,
        )
        if not item.outputs:
            return result
        outputs = self._collect_outputs(item, context, result.extras, digest)
        return result._replace(outputs=outputs, staged=[context.files[path] for path, _, _ in outputs])

    def _require_valid_outputs(self, item: WorkItem, context: StageContext) -> None:
        """Require that every output can be published in DATA."""
        if not item.outputs:
            return
        try:
            resolve_outputs(os.fspath(context.data), item.outputs, fingerprinting=self._options.fingerprinting)
        except ValueError as error:
            category = "input" if isinstance(error, NameTooLongError) else "config"
            raise self._make_error(item, str(error), category) from None

    def _set_up(self) -> dict[str, Any]:
        """Return the resources that the items of this worker share; set up before the first item."""
        if self._resources is None:
            self._resources = {}
            context = StageContext(self.stage, self._options, self._resources)
            call_hook(self._worker_setup, self._setup_errors.append, "worker_setup", context)
        return self._resources

    def _call_before_item(self, item: WorkItem, context: StageContext) -> None:
        for message in self._setup_errors:
            context.warn(message)
        call_hook(self._before_item, context.warn, "before_item", item, context)

    def _hash_inputs(self, item: WorkItem) -> dict[str, str]:
        if not self._options.fingerprinting or not item.outputs:
            return {}
        return {
            name: each.sha256 if isinstance(each, AddressedInput) else hash_file(os.fspath(each))
            for name, each in item.inputs.items()
        }

    def _require_unchanged(
        self, item: WorkItem, files: dict[str, str], before: dict[str, FileStat], hashes: dict[str, str]
    ) -> None:
        """Require that no input has changed since the item started. A new link or other permissions change only the
        change time: then the content is compared, if it was hashed."""
        for name, path in files.items():
            found = FileStat.read(path)
            if found.signature == before[name].signature:
                continue
            is_only_ctime = found._replace(ctime_ns=before[name].ctime_ns).signature == before[name].signature
            if not is_only_ctime or (name in hashes and hash_file(path) != hashes[name]):
                raise self._make_error(item, f"the input {path} changed while it was read", "io", retryable=True)

    def _encode_extras(self, item: WorkItem, value: Any) -> dict[str, Any] | None:
        if value is None:
            return None
        try:
            extras = msgspec.to_builtins(value, str_keys=True, order="deterministic")
            msgspec.json.encode(extras)
        except Exception as error:
            raise self._make_error(item, f"the return value of the worker cannot be encoded as JSON: {error}") from None
        if not isinstance(extras, dict):
            raise self._make_error(item, f"a worker must return a dict of extras or None, got {type(value).__name__}")
        return extras

    def _collect_outputs(
        self, item: WorkItem, context: StageContext, extras: dict[str, Any], digest: str
    ) -> list[tuple[str, int, int]]:
        """Return path, size and CRC-32 of every output and of the fingerprint. Requires that every declared output was
        written and is not empty."""
        records: dict[str, OutputRecord] = {}
        for name, declared in item.outputs.items():
            path = resolve_output(os.fspath(context.data), declared)
            try:
                size, checksum = checksum_file(stage_file(context, path))
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                raise self._make_error(item, f"the worker did not write its output {name!r}") from None
            if size == 0:
                raise self._make_error(item, f"the worker left its output {name!r} empty")
            records[name] = OutputRecord(path, size, checksum)
        outputs = [(record.path, record.size, record.crc32) for record in records.values()]
        if self._options.fingerprinting:
            outputs.append(
                self._write_fingerprint(
                    context,
                    Fingerprint(
                        schema_version=SCHEMA_VERSION,
                        stage=self.stage,
                        item_id=escape_surrogates(item.item_id),
                        input_sha256=digest,
                        cfg_hash=item.cfg_hash,
                        outputs=records,
                        extras=extras,
                    ),
                )
            )
        return outputs

    def _write_fingerprint(self, context: StageContext, fingerprint: Fingerprint) -> tuple[str, int, int]:
        path = locate_fingerprint({name: record.path for name, record in fingerprint.outputs.items()}) or ""
        staged, data = stage_file(context, path), fingerprint.encode()
        file = SystemFilesystem().open(staged)
        try:
            file.append(data)
        finally:
            file.close()
        return path, len(data), zlib.crc32(data)

    def _make_error(
        self, item: WorkItem, message: str, category: str = "runtime", *, retryable: bool = False
    ) -> StageError:
        return StageError(message, category=category, retryable=retryable, stage=self.stage, item_id=item.item_id)


def _ignore(warning: str) -> None:
    """Drop a warning: an item of which nothing was read ahead is processed as any other."""


def _sum_addressed(item: WorkItem) -> int:
    """The size of the inputs that are no files."""
    return sum(each.size for each in item.inputs.values() if isinstance(each, AddressedInput))


def _locate_error(error: StageError, stage: str, item: WorkItem) -> None:
    """Complete the place of an error. If it is not that of the item, the message names it."""
    place = [error.stage] if error.stage not in ("", stage) else []
    place += [error.item_id] if error.item_id not in ("", item.item_id) else []
    error.stage, error.item_id = error.stage or stage, error.item_id or item.item_id
    if place:
        error.message = ": ".join([*place, error.message])
        error.args = (error.message,)


def _discard(context: StageContext) -> None:
    """Remove the files that an attempt has staged."""
    for path in context.files.values():
        with contextlib.suppress(OSError):
            os.unlink(path)


def _has_context_parameter(worker: Callable[..., Any]) -> bool:
    """Whether a worker function takes two arguments. One without a signature is given both."""
    with contextlib.suppress(TypeError, ValueError):
        kinds = [parameter.kind for parameter in inspect.signature(worker).parameters.values()]
        positional = sum(
            kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD) for kind in kinds
        )
        return positional >= 2 or inspect.Parameter.VAR_POSITIONAL in kinds
    return True
