"""A batch made ready to leave this machine, and what comes back taken in."""

import pickle
from typing import Any, NamedTuple, Protocol

import msgspec

from inorder.core.events import Envelope, Event, Finished
from inorder.engines.attempt import FAIL, failure_of
from inorder.engines.base import Batch, PackedTask, Task
from inorder.engines.memory_estimate import payload_bytes
from inorder.engines.process.main_pickle import by_value
from inorder.engines.process.worker_process import packed

_MAIN = b"__main__"
_BATCH_BYTES = 32 * 2**20
"""What is sent along with one batch; the rest of it goes back."""


class Courier(Protocol):
    """Makes items ready to travel, and takes in what comes back."""

    mark: str
    """A file by which a node tells whether it sees what this machine sees."""
    secret: str
    """What is in it."""

    def depart(self, item: Any, *, sees_files: bool) -> tuple[Any, int] | None:
        """The item as it travels, and the bytes that are sent along. None: it must stay. May raise, and then the item
        fails."""
        ...

    def arrive(self, value: Any) -> Any:
        """A result, with what came along put in its place."""
        ...


class Ready(NamedTuple):
    """What becomes of the tasks of a batch."""

    packed: list[PackedTask]
    """To be sent; none where one stays."""
    refused: list[Envelope]
    """Answers for those that cannot be."""
    returned: list[int] = []  # noqa: RUF012
    """Seqs that go back to be given to somebody else."""
    staying: list[Task] = []  # noqa: RUF012
    """Done here."""


def _pickled(item: Any) -> bytes:
    """An item; with the classes of the main script, which is another one over there."""
    data = pickle.dumps(item, protocol=5)
    return by_value(item) if _MAIN in data else data


class Mail:
    """Asks the courier, where there is one."""

    def __init__(self, courier: Courier | None) -> None:
        self._courier = courier
        self.mark = courier.mark if courier is not None else ""
        self.secret = courier.secret if courier is not None else ""

    def ready(self, batch: Batch, *, sees_files: bool) -> Ready:
        """A batch for a node that sees our files, or does not."""
        if self._courier is None:
            return Ready(*packed(batch.tasks, _pickled))
        leaving: list[Task] = []
        staying: list[Task] = []
        refused: list[Envelope] = []
        size = 0
        for task in batch.tasks:
            if size > _BATCH_BYTES:
                break
            try:
                travelling = self._courier.depart(task.item, sees_files=sees_files)
            except Exception as error:
                refused.append(Envelope(task.seq, task.attempt, FAIL, error, 0, failure_of(error)))
                continue
            if travelling is None:
                staying.append(task)
            else:
                leaving.append(task._replace(item=travelling[0]))
                size += travelling[1]
        tasks, unsendable = packed(leaving, _pickled) if not staying else ([], [])
        refused += unsendable
        decided = {task.seq for task in (staying or leaving)} | {envelope.seq for envelope in refused}
        return Ready(tasks, refused, [task.seq for task in batch.tasks if task.seq not in decided], staying)

    def brought(self, event: Event) -> Event:
        """What results have brought along is put in its place."""
        if self._courier is None or not isinstance(event, Finished):
            return event
        return Finished(event.worker, [self._taken_in(self._courier, envelope) for envelope in event.envelopes])

    @staticmethod
    def _taken_in(courier: Courier, envelope: Envelope) -> Envelope:
        if envelope.outcome == FAIL:
            return envelope
        value = courier.arrive(envelope.payload)
        if value is envelope.payload:
            return envelope
        return msgspec.structs.replace(envelope, payload=value, payload_bytes=payload_bytes(value))
