"""One item, in its worker: hash the inputs, call the stage, look at what it made.

This is what travels to a worker process, once, and is called for every item there. It returns what the commit lane
needs and raises what it should say; it publishes nothing.
"""

import contextlib
import copy
import inspect
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from inorder.engines.attempt import Skip, as_text

from .context import StageContext
from .contracts import StageError, StageOptions, WorkItem
from .data_layout import resolve_output
from .file_stat import FileStat
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


class StageTask(NamedTuple):
    """An item, and what the runner has found out about it."""

    item: WorkItem
    skip: str = ""
    """Why there is nothing to do; empty: there is."""
    extras: dict[str, Any] = {}  # noqa: RUF012
    """Of a satisfied item, from its fingerprint."""
    input_sha256: str = ""
    removals: tuple[str, ...] = ()
    """Files in DATA that go with it."""


class StageResult(NamedTuple):
    """What an item has come to."""

    extras: dict[str, Any]
    outputs: list[tuple[str, int, int]]
    """Path, size and CRC-32 of every file, the fingerprint last."""
    staged: list[str]
    """Where each of them waits."""
    input_sha256: str
    inputs: list[tuple[str, FileStat, str]]
    """Every input that was hashed: its path, what it looked like before, and its hash."""
    warnings: list[str]
    removals: list[str] = []  # noqa: RUF012
    """Files in DATA that go when this is committed."""
    delivery: Any = None
    """For the stage's own sinks."""


class StageWork:
    """Calls a worker. `resources` stays behind when this travels."""

    def __init__(
        self,
        worker: Callable[..., Any],
        stage: str,
        options: StageOptions,
        staging: str,
        *,
        before_item: Callable[[WorkItem, Any], None] | None = None,
        worker_setup: Callable[[Any], None] | None = None,
        resources: dict[str, Any] | None = None,
    ) -> None:
        self._worker = worker
        self._stage = stage
        self._options = options
        self._staging = staging
        self._before_item = before_item
        self._worker_setup = worker_setup
        self._resources = resources
        self._trouble = ""
        """What `worker_setup` raised."""
        self._takes_context = _takes_context(worker)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_resources": None}

    @property
    def data(self) -> str:
        """DATA, as a path."""
        return os.fspath(self._options.data)

    def elsewhere(self, data: str) -> "StageWork":
        """The same work, with another folder for DATA, and one set of resources for both."""
        self._set_up()
        there = copy.copy(self)
        there._options = msgspec.structs.replace(self._options, data=data)
        there._staging = f"{data}/.staging/{self._stage}"
        os.makedirs(there._staging, exist_ok=True)
        return there

    def __repr__(self) -> str:
        return f"the worker of stage {self._stage}"

    def __call__(self, task: StageTask) -> Any:
        """Do one item."""
        if task.skip:
            return Skip(task.skip, StageResult(task.extras, [], [], task.input_sha256, [], [], [*task.removals]))
        context = StageContext(self._stage, self._options, self._set_up(), self._staging)
        try:
            result = self._attempt(task.item, context)
        except BaseException:
            _discard(context)
            raise
        if isinstance(result, Skip):
            _discard(context)
        return result

    def _attempt(self, item: WorkItem, context: StageContext) -> Any:
        self._require_places(item, context)
        context.item = item
        before = {name: FileStat.at(os.fspath(path)) for name, path in item.inputs.items()}
        hashes = self._hashes(item)
        self._tap(item, context)
        value = self._worker(item, context) if self._takes_context else self._worker(item)
        self._require_unchanged(item, before)
        inputs = [(os.fspath(item.inputs[name]), before[name], digest) for name, digest in hashes.items()]
        digest = combine_sha256(hashes)
        if isinstance(value, Skip):
            extras = self._extras(item, value.value)
            result = StageResult(extras, [], [], digest, inputs, context.warnings, context.removals)
            return Skip(str(value.reason), result)
        extras = self._extras(item, value)
        outputs = self._outputs(item, context, extras, digest)
        staged = [context.files[path] for path, _, _ in outputs]
        return StageResult(
            extras, outputs, staged, digest, inputs, context.warnings, context.removals, context.delivery
        )

    def _require_places(self, item: WorkItem, context: StageContext) -> None:
        """Every output has a place in DATA, and none is another's."""
        try:
            resolve_outputs(os.fspath(context.data), item.outputs, fingerprinting=self._options.fingerprinting)
        except ValueError as error:
            raise self._error(item, str(error), "config") from None

    def _set_up(self) -> dict[str, Any]:
        """What this worker shares between its items; made before the first of them."""
        if self._resources is None:
            self._resources = {}
            context = StageContext(self._stage, self._options, self._resources)
            if self._worker_setup is not None:
                try:
                    self._worker_setup(context)
                except Exception as error:
                    self._trouble = f"worker_setup: {type(error).__name__}: {error}"
        return self._resources

    def _tap(self, item: WorkItem, context: StageContext) -> None:
        if self._trouble:
            context.warn(self._trouble)
        if self._before_item is not None:
            try:
                self._before_item(item, context)
            except Exception as error:
                context.warn(f"before_item: {type(error).__name__}: {error}")

    def _hashes(self, item: WorkItem) -> dict[str, str]:
        if not self._options.fingerprinting or not item.outputs:
            return {}
        return {name: hash_file(os.fspath(path)) for name, path in item.inputs.items()}

    def _require_unchanged(self, item: WorkItem, before: dict[str, FileStat]) -> None:
        """The inputs are what they were when the item began."""
        for name, path in item.inputs.items():
            if FileStat.at(os.fspath(path)).facts != before[name].facts:
                raise self._error(item, f"the input {path} changed while it was read", "io", retryable=True)

    def _extras(self, item: WorkItem, value: Any) -> dict[str, Any]:
        if value is None:
            return {}
        try:
            extras = msgspec.to_builtins(value, str_keys=True, order="deterministic")
            msgspec.json.encode(extras)
        except Exception as error:
            raise self._error(item, f"what the worker returned cannot be written as JSON: {error}") from None
        if not isinstance(extras, dict):
            raise self._error(item, f"a worker returns a dict of extras or None, got {type(value).__name__}")
        return extras

    def _outputs(
        self, item: WorkItem, context: StageContext, extras: dict[str, Any], digest: str
    ) -> list[tuple[str, int, int]]:
        """What was made, with the fingerprint; every declared output must be there and not empty."""
        made: dict[str, OutputRecord] = {}
        for name, declared in item.outputs.items():
            path = resolve_output(os.fspath(context.data), declared)
            try:
                size, checksum = checksum_file(context.staged(path))
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                raise self._error(item, f"the worker did not write its output {name!r}") from None
            if size == 0:
                raise self._error(item, f"the worker left its output {name!r} empty")
            made[name] = OutputRecord(path, size, checksum)
        outputs = [(one.path, one.size, one.crc32) for one in made.values()]
        if made and self._options.fingerprinting:
            outputs.append(
                self._fingerprint(
                    item,
                    context,
                    Fingerprint(
                        schema_version=SCHEMA_VERSION,
                        stage=self._stage,
                        item_id=as_text(item.item_id),
                        input_sha256=digest,
                        cfg_hash=item.cfg_hash,
                        outputs=made,
                        extras=extras,
                    ),
                )
            )
        return outputs

    def _fingerprint(self, item: WorkItem, context: StageContext, fingerprint: Fingerprint) -> tuple[str, int, int]:
        path = locate_fingerprint({name: made.path for name, made in fingerprint.outputs.items()}) or ""
        staged = context.staged(path)
        with open(staged, "wb") as file:
            file.write(fingerprint.encode())
        return (path, *checksum_file(staged))

    def _error(self, item: WorkItem, message: str, category: str = "runtime", *, retryable: bool = False) -> StageError:
        return StageError(message, category=category, retryable=retryable, stage=self._stage, item_id=item.item_id)


def _discard(context: StageContext) -> None:
    """Remove what an attempt has staged."""
    for path in context.files.values():
        with contextlib.suppress(OSError):
            os.unlink(path)


def _takes_context(worker: Callable[..., Any]) -> bool:
    """Whether a worker wants two arguments. One that cannot be asked is given both."""
    with contextlib.suppress(TypeError, ValueError):
        kinds = [parameter.kind for parameter in inspect.signature(worker).parameters.values()]
        positional = sum(
            kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD) for kind in kinds
        )
        return positional >= 2 or inspect.Parameter.VAR_POSITIONAL in kinds
    return True
