"""How the results of a stage survive a crash: what the result log keeps of them, and when they are still valid.

A result is adopted if its item is the same (id, configuration, inputs and outputs, and the identity that the item
states), if no input has changed since the worker read it, and if every staged file still has the bytes that the worker
wrote. What a worker passed to `ctx.deliver` must be plain data; a result with anything else is computed again, and so
is every failure.
"""

import os
from collections.abc import Sequence
from typing import Any

import msgspec

from inorder.engines.attempt import Skip
from inorder.host.filesystem import Filesystem
from inorder.runtime.identity import is_plain
from inorder.runtime.result_log import DecodedResult, EncodedResult, ResultRecord
from inorder.sinks.outputs import is_intact

from .contracts import get_identity
from .files.file_stat import FileStat
from .fingerprints import hash_file, resolve_outputs
from .inputs import AddressedInput, Input, list_files
from .partial_results import decode_partial
from .plan_identity import identify_item
from .worker import StageResult, StageTask


class _StoredResult(msgspec.Struct, frozen=True, array_like=True):
    """A result in the log, without the paths that the item and the staged files say."""

    skip_reason: str | None
    result: StageResult


_DECODER = msgspec.msgpack.Decoder(_StoredResult)


class StageResultCodec:
    """Encodes the results of a stage. Implements `ResultCodec`."""

    def __init__(self, filesystem: Filesystem, data: str, staging: str, *, fingerprinting: bool) -> None:
        self._filesystem = filesystem
        self._data = data
        self._staging = staging
        self._fingerprinting = fingerprinting

    def identify(self, item: StageTask) -> bytes:
        """Return the identity of an item and, unless the item states it, the paths of its inputs."""
        if get_identity(item.item):
            return identify_item(item.item)
        inputs = "\x00".join([f"{name}={_identify_input(each)}" for name, each in item.item.inputs.items()])
        return identify_item(item.item) + b"\x01" + inputs.encode("utf-8", "surrogatepass")

    def encode(self, item: StageTask, payload: Any) -> EncodedResult | None:
        """Prepare a result, unless the item was up to date or the result has values that cannot be stored."""
        result: StageResult = payload.value if isinstance(payload, Skip) else payload
        if item.skip or not is_plain(result.delivery):
            return None
        inputs = [("", stat, digest) for _, stat, digest in result.inputs]
        stored = _StoredResult(
            payload.reason if isinstance(payload, Skip) else None, result._replace(staged=[], inputs=inputs)
        )
        files = [
            (os.path.basename(path), output[0]) for path, output in zip(result.staged, result.outputs, strict=True)
        ]
        return EncodedResult(stored, files)

    def decode(self, item: StageTask, record: ResultRecord) -> DecodedResult | None:
        """Decode a result, and check its inputs and staged files."""
        try:
            stored = _DECODER.decode(record.payload)
            resolve_outputs(self._data, item.item.outputs, fingerprinting=self._fingerprinting)
            result = stored.result
            inputs = _check_inputs(item, [(stat, digest) for _, stat, digest in result.inputs])
            names = [name for name, _ in record.files]
            has_files = len(result.outputs) == len(names) and all(map(self._is_staged, result.outputs, names))
        except (msgspec.DecodeError, OSError, ValueError):
            return None
        if item.skip or inputs is None or not has_files:
            return None
        result = result._replace(staged=[f"{self._staging}/{name}" for name in names], inputs=inputs)
        return DecodedResult(result if stored.skip_reason is None else Skip(stored.skip_reason, result))

    def is_valid_partial(self, item: StageTask, partial: bytes) -> bool:
        """Whether no input has changed since the item was begun that handed this over."""
        try:
            return not item.skip and _check_inputs(item, decode_partial(partial).inputs) is not None
        except (msgspec.DecodeError, OSError, ValueError):
            return False

    def _is_staged(self, output: tuple[str, int, int], name: str) -> bool:
        is_safe = name == os.path.basename(name) and name not in ("", ".", "..")
        return is_safe and is_intact(self._filesystem, f"{self._staging}/{name}", output[1], output[2])


def _identify_input(source: Input) -> str:
    """An input that is not a file is identified with its content; whether a file has changed is checked by its stat."""
    return f"{os.fspath(source)}={source.sha256}" if isinstance(source, AddressedInput) else os.fspath(source)


def _check_inputs(task: StageTask, inputs: Sequence[tuple[FileStat, str]]) -> list[tuple[str, FileStat, str]] | None:
    """Return path, stat and hash of every input; None: one of them has changed since the worker read it. Of an item
    that states its identity, a file with the same stat has the same content: the identity tells if it was changed in
    the moment after it was read."""
    paths = list(list_files(task.item.inputs).values())
    if len(paths) != len(inputs):
        return None
    found = []
    for path, (stat, digest) in zip(paths, inputs, strict=True):
        present = FileStat.read(path)
        is_same = present.signature == stat.signature and (bool(get_identity(task.item)) or not stat.is_racy)
        if not is_same and (not digest or hash_file(path) != digest):
            return None
        found.append((path, present, digest))
    return found
