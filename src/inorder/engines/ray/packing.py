"""Packs batches for a node, and unpacks the results that come back."""

from typing import Any, NamedTuple, Protocol

import msgspec

from inorder.core.events import Envelope, Event, Finished
from inorder.engines.attempt import FAIL, classify_error
from inorder.engines.base import Batch, PackedTask, Task
from inorder.engines.memory_estimate import estimate_bytes, get_held_bytes
from inorder.engines.process.main_pickle import dump_for_worker
from inorder.engines.process.worker_process import pack_tasks

_BATCH_BYTES = 32 * 2**20
"""Bytes of files that are sent with one batch; the items beyond are returned."""


class FileTransfer(Protocol):
    """Moves the files of items to a node, and those of results back."""

    marker_path: str
    """A file by which a node recognizes that it sees the driver's files."""
    marker_secret: str
    """The content of that file."""

    def pack_item(self, item: Any, *, sees_files: bool) -> tuple[Any, int] | None:
        """Return the item as it is sent, and the bytes of its files. None: it must run on this machine. An exception
        fails the item."""

    def unpack_value(self, value: Any) -> Any:
        """Store the files that came with a result; return the result that refers to them."""


class PackedBatch(NamedTuple):
    """What happens to the tasks of a batch."""

    tasks: list[PackedTask]
    """To be sent; empty if there are local tasks."""
    refused: list[Envelope]
    """Failures of the tasks that cannot be sent."""
    returned: list[int] = []  # noqa: RUF012
    """Seqs that are returned to the kernel."""
    local: list[Task] = []  # noqa: RUF012
    """To be run on this machine."""


class TaskPacker:
    """Packs tasks, with their files if there is a `FileTransfer`."""

    def __init__(self, files: FileTransfer | None) -> None:
        self._files = files
        self.marker_path = files.marker_path if files is not None else ""
        self.marker_secret = files.marker_secret if files is not None else ""

    def pack(self, batch: Batch, *, sees_files: bool) -> PackedBatch:
        """Pack a batch for a node that sees the driver's files, or does not."""
        if self._files is None:
            return PackedBatch(*pack_tasks(batch.tasks, dump_for_worker))
        remote: list[Task] = []
        local: list[Task] = []
        refused: list[Envelope] = []
        size = 0
        for task in batch.tasks:
            if size > _BATCH_BYTES:
                break
            try:
                packed = self._files.pack_item(task.item, sees_files=sees_files)
            except Exception as error:
                refused.append(Envelope(task.seq, task.attempt, FAIL, error, 0, classify_error(error)))
                continue
            if packed is None:
                local.append(task)
            else:
                remote.append(task._replace(item=packed[0]))
                size += packed[1]
        tasks, unpicklable = pack_tasks(remote, dump_for_worker) if not local else ([], [])
        refused += unpicklable
        decided = {task.seq for task in (local or remote)} | {envelope.seq for envelope in refused}
        return PackedBatch(tasks, refused, [task.seq for task in batch.tasks if task.seq not in decided], local)

    def unpack(self, event: Event) -> Event:
        """Store the files that came with the results of an event."""
        if self._files is None or not isinstance(event, Finished):
            return event
        return Finished(event.worker, [self._unpack_files(self._files, envelope) for envelope in event.envelopes])

    @staticmethod
    def _unpack_files(files: FileTransfer, envelope: Envelope) -> Envelope:
        if envelope.outcome == FAIL:
            return envelope
        value = files.unpack_value(envelope.payload)
        if value is envelope.payload:
            return envelope
        return msgspec.structs.replace(
            envelope, payload=value, payload_bytes=estimate_bytes(value) + get_held_bytes(value)
        )
