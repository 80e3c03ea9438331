"""The queue of a window: which items can be dispatched, and in what order.

There are three queues, served in this order:

* suspects: items that may have killed a worker. Each is dispatched in isolation.
* requeued: items that were dispatched before, by seq: reclaimed items, and retries that are due.
* fresh: items never dispatched, in one group per batch key, each group in the order of the schedule. A worker keeps the
  key of its previous batch while that group lasts, so that its caches stay warm. Then it takes the group with the
  fewest workers, so that each worker has to prepare for few keys.

An item may be taken out of order (the one the cursor waits for, or the oldest of an aged window). Its entry then stays
in its queue and is ignored later: `_waiting` and `_suspects` say which items are ready, the queues only give the order.
"""

from collections import Counter, deque
from collections.abc import Collection, Sequence
from heapq import heappop, heappush
from itertools import islice


class _Fifo:
    """Seqs in the order in which they were added."""

    def __init__(self) -> None:
        self._seqs: deque[int] = deque()

    def push(self, seqs: Sequence[int], _costs: Sequence[float]) -> None:
        self._seqs.extend(seqs)

    def pop(self, count: int) -> list[int]:
        seqs = self._seqs
        return [seqs.popleft() for _ in range(min(count, len(seqs)))]

    def __len__(self) -> int:
        return len(self._seqs)


class _ShortestFirst:
    """Seqs by predicted cost, then by seq."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int]] = []

    def push(self, seqs: Sequence[int], costs: Sequence[float]) -> None:
        for entry in zip(costs, seqs, strict=True):
            heappush(self._heap, entry)

    def pop(self, count: int) -> list[int]:
        heap = self._heap
        return [heappop(heap)[1] for _ in range(min(count, len(heap)))]

    def __len__(self) -> int:
        return len(self._heap)


_QUEUES: dict[str, type[_Fifo] | type[_ShortestFirst]] = {"fifo": _Fifo, "sjf": _ShortestFirst}


class ReadyQueue:
    """The items of one window that are ready for dispatch."""

    def __init__(self, schedule: str) -> None:
        self._make_queue = _QUEUES[schedule]
        self._fresh: dict[str, _Fifo | _ShortestFirst] = {}
        self._keys: dict[int, str] = {}
        self._requeued: list[int] = []
        self._suspect_heap: list[int] = []
        self._waiting: set[int] = set()
        self._suspects: set[int] = set()
        self._oldest: deque[int] = deque()

    def __len__(self) -> int:
        return len(self._waiting) + len(self._suspects)

    def __contains__(self, seq: int) -> bool:
        return seq in self._waiting or seq in self._suspects

    def add_fresh(self, seqs: Sequence[int], costs: Sequence[float], key: str) -> None:
        """Add items of one key that were never dispatched."""
        queue = self._fresh.get(key)
        if queue is None:
            queue = self._fresh[key] = self._make_queue()
        queue.push(seqs, costs)
        self._oldest.extend(seqs)
        self._waiting.update(seqs)
        if key:
            self._keys.update(dict.fromkeys(seqs, key))

    def requeue(self, seq: int) -> None:
        """Add an item that was dispatched before."""
        heappush(self._requeued, seq)
        self._waiting.add(seq)

    def add_suspect(self, seq: int) -> None:
        """Add an item that must run in isolation."""
        heappush(self._suspect_heap, seq)
        self._suspects.add(seq)

    def is_suspect(self, seq: int) -> bool:
        """Whether this ready item must run in isolation."""
        return seq in self._suspects

    def get_key(self, seq: int) -> str:
        """Return the batch key of an item."""
        return self._keys.get(seq, "")

    def take_seq(self, seq: int) -> None:
        """Remove this item, out of order."""
        self._waiting.discard(seq)
        self._suspects.discard(seq)

    def take_suspect(self) -> int | None:
        """Remove and return the lowest suspect, if there is one."""
        while self._suspect_heap:
            seq = heappop(self._suspect_heap)
            if seq in self._suspects:
                self._suspects.remove(seq)
                return seq
        return None

    def take_oldest(self) -> list[int]:
        """Remove and return the lowest ready seq that is not a suspect. There must be one."""
        self._drop_stale_requeued()
        while self._oldest and self._oldest[0] not in self._waiting:
            self._oldest.popleft()
        seq = min(queue[0] for queue in (self._requeued, self._oldest) if queue)
        self._waiting.remove(seq)
        return [seq]

    def take(self, limit: int, preferred_key: str, keys_in_use: Collection[str] = ()) -> list[int]:
        """Remove and return one requeued item or up to `limit` fresh items of one batch key. `keys_in_use` are the keys
        of all workers."""
        self._drop_stale_requeued()
        if self._requeued:
            self._waiting.remove(self._requeued[0])
            return [heappop(self._requeued)]
        while self._fresh:
            key = preferred_key if preferred_key in self._fresh else self._choose_key(keys_in_use)
            queue = self._fresh[key]
            taken = self._drain(queue, limit)
            if not queue:
                del self._fresh[key]
            if taken:
                return taken
        return []

    def _choose_key(self, keys_in_use: Collection[str]) -> str:
        """Choose the group with the fewest workers; the oldest, if there are several."""
        counts = Counter(keys_in_use) if len(self._fresh) > 1 else Counter()
        best, *others = islice(self._fresh, len(keys_in_use) + 1)  # among more groups than workers, one has no worker
        for key in others:
            if counts[key] < counts[best]:
                best = key
        return best

    @property
    def is_reordered(self) -> bool:
        """Whether `take` may return a seq before a lower one."""
        return self._make_queue is not _Fifo or len(self._fresh) > 1

    def _drain(self, queue: _Fifo | _ShortestFirst, limit: int) -> list[int]:
        waiting = self._waiting
        taken: list[int] = []
        while queue and len(taken) < limit:
            taken += [seq for seq in queue.pop(limit - len(taken)) if seq in waiting]
        waiting.difference_update(taken)
        return taken

    def _drop_stale_requeued(self) -> None:
        while self._requeued and self._requeued[0] not in self._waiting:
            heappop(self._requeued)
