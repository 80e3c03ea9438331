"""What is sent to a worker process, and what need not be: an item with nothing to do is answered for on the spot."""

from functools import partial

from inorder.core.events import Envelope
from inorder.engines.attempt import attempt
from inorder.engines.base import Task
from inorder.engines.process.engine import Packing
from inorder.engines.process.worker_process import PackedTask, packed

from .worker import StageWork


def packing_of(work: StageWork) -> Packing:
    """So a run in which nothing has changed starts no process at all."""
    return Packing(pack=partial(_packed, work))


def _packed(work: StageWork, tasks: list[Task]) -> tuple[list[PackedTask], list[Envelope]]:
    ready, refused = packed([task for task in tasks if not task.item.skip])
    return ready, refused + [attempt(work, task) for task in tasks if task.item.skip]
