"""Compresses results in the worker processes that make them, once the store of their stage has a dictionary.

The process that drives a run trains the dictionary from the first results, and commits it with them. Workers look for
it from time to time. What they have compressed is stored as it is. A result names its dictionary by its checksum: one
that survived a crash in the result log is of no use if the store has lost the dictionary.
"""

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any

from inorder.errors import InorderError
from inorder.stage.worker import StageResult, StageTask, StageWork, StoredContent

from .codec import DICTIONARIES, RAW, SMALL_BYTES, Dictionary, compress
from .database import close_readers, open_store

if TYPE_CHECKING:
    from inorder.stage.context import StageLookahead

LOOK_S = 0.25
"""How often a worker looks for a dictionary."""


class CompressingWork:
    """Does the work of a stage whose results go to its store, and compresses them. Sent to worker processes."""

    def __init__(self, function: Callable[[StageTask], Any], work: StageWork) -> None:
        self._function = function
        self._work = work
        self._dictionary: Dictionary | None = None
        self._looked_s = float("-inf")

    def __repr__(self) -> str:
        return repr(self._work)

    @property
    def classify(self) -> Any:
        """The user's mapping of exceptions."""
        return self._work.classify

    @property
    def lookahead(self) -> "StageLookahead | None":
        """What a worker process calls before a group of items."""
        found: StageLookahead | None = getattr(self._function, "lookahead", None)
        return found

    def release(self) -> None:
        """Close the stores that were read: the log files of a store stay while a process has it open."""
        close_readers()

    def __call__(self, task: StageTask) -> Any:
        """Run one item."""
        result = self._function(task)
        stored = result.stored if isinstance(result, StageResult) else None
        if stored is None or stored.codec != RAW or stored.size > SMALL_BYTES:
            return result
        dictionary = self._dictionary or self._look()
        return result if dictionary is None else result._replace(stored=_compress(stored, dictionary))

    def _look(self) -> Dictionary | None:
        now_s = monotonic()
        if now_s - self._looked_s >= LOOK_S:
            self._looked_s = now_s
            try:
                store = open_store(self._work.data, self._work.stage)
                self._dictionary = None if store is None else store.find_content_dictionary()
            except InorderError:
                return None  # the sink of the store reports what is wrong with it
        return self._dictionary


def _compress(stored: StoredContent, dictionary: Dictionary) -> StoredContent:
    codec, content = compress(stored.content, dictionary)
    return StoredContent(stored.size, stored.sha256, codec, content, dictionary.checksum)


def is_readable(data: str, stage: str, stored: StoredContent | None) -> bool:
    """Whether the store of a stage has what the content of a result was compressed with."""
    if stored is None or stored.codec < DICTIONARIES:
        return True
    try:
        store = open_store(data, stage)
        found = None if store is None else store.find_content_dictionary()
    except InorderError:
        return False
    return found is not None and (found.number, found.checksum) == (stored.codec, stored.dictionary)
