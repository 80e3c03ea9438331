"""Which items of a window may be dispatched now, and in what order.

Three queues, served in this order:

* `alone`: items suspected of having killed a worker; each goes out by itself.
* `again`: items that were dispatched before, by seq: reclaimed ones, and retries whose wait is over.
* `fresh`: items never dispatched, in one group per batch key, each group in the order of the schedule. A worker keeps
  to the key it had before while that group lasts, so its parser stays warm.

An item may be taken out of turn (the one the cursor waits for, or the oldest of an aged window). Its entry in a queue
then stays behind and is passed over later: membership in `_waiting` is the truth, the queues only give the order.
"""

from collections import deque
from heapq import heappop, heappush


class _Fifo:
    """Seqs in the order they came."""

    def __init__(self) -> None:
        self._seqs: deque[int] = deque()

    def push(self, seq: int, _cost: float) -> None:
        self._seqs.append(seq)

    def pop(self) -> int:
        return self._seqs.popleft()

    def __len__(self) -> int:
        return len(self._seqs)


class _ShortestFirst:
    """Seqs by predicted cost, equal ones in the order they came."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int]] = []

    def push(self, seq: int, cost: float) -> None:
        heappush(self._heap, (cost, seq))

    def pop(self) -> int:
        return heappop(self._heap)[1]

    def __len__(self) -> int:
        return len(self._heap)


_QUEUES: dict[str, type[_Fifo] | type[_ShortestFirst]] = {"fifo": _Fifo, "sjf": _ShortestFirst}


class Ready:
    """The items of one window that wait for a worker."""

    def __init__(self, schedule: str) -> None:
        self._make_queue = _QUEUES[schedule]
        self._fresh: dict[str, _Fifo | _ShortestFirst] = {}
        self._keys: dict[int, str] = {}
        self._again: list[int] = []
        self._alone: list[int] = []
        self._waiting: set[int] = set()
        self._suspects: set[int] = set()
        self._oldest: deque[int] = deque()

    def __len__(self) -> int:
        return len(self._waiting) + len(self._suspects)

    def __contains__(self, seq: int) -> bool:
        return seq in self._waiting or seq in self._suspects

    def add_fresh(self, seq: int, cost: float, key: str) -> None:
        """An item that no worker has had."""
        queue = self._fresh.get(key)
        if queue is None:
            queue = self._fresh[key] = self._make_queue()
        queue.push(seq, cost)
        self._oldest.append(seq)
        self._waiting.add(seq)
        if key:
            self._keys[seq] = key

    def add_again(self, seq: int) -> None:
        """An item that was dispatched before and may go out again."""
        heappush(self._again, seq)
        self._waiting.add(seq)

    def add_alone(self, seq: int) -> None:
        """An item that must run by itself."""
        heappush(self._alone, seq)
        self._suspects.add(seq)

    def is_suspect(self, seq: int) -> bool:
        """Whether this waiting item must run by itself."""
        return seq in self._suspects

    def key_of(self, seq: int) -> str:
        """The batch key of an item."""
        return self._keys.get(seq, "")

    def take_exactly(self, seq: int) -> None:
        """Take this one, out of turn."""
        self._waiting.discard(seq)
        self._suspects.discard(seq)

    def take_alone(self) -> int | None:
        """The lowest suspect."""
        while self._alone:
            seq = heappop(self._alone)
            if seq in self._suspects:
                self._suspects.remove(seq)
                return seq
        return None

    def take_oldest(self) -> list[int]:
        """The lowest waiting seq whatever the schedule. Something other than a suspect must be waiting."""
        self._pass_over_again()
        while self._oldest and self._oldest[0] not in self._waiting:
            self._oldest.popleft()
        seq = min(queue[0] for queue in (self._again, self._oldest) if queue)
        self._waiting.remove(seq)
        return [seq]

    def take(self, limit: int, preferred_key: str) -> list[int]:
        """Up to `limit` items of one batch key, by the rules above; none when only suspects wait."""
        self._pass_over_again()
        if self._again:
            self._waiting.remove(self._again[0])
            return [heappop(self._again)]
        for key in (preferred_key, *self._fresh):
            queue = self._fresh.get(key)
            if queue is None:
                continue
            taken = self._drain(queue, limit)
            if not queue:
                del self._fresh[key]
            if taken:
                return taken
        return []

    @property
    def is_reordered(self) -> bool:
        """Whether `take` may leave an older item behind a younger one."""
        return self._make_queue is not _Fifo or len(self._fresh) > 1

    def _drain(self, queue: _Fifo | _ShortestFirst, limit: int) -> list[int]:
        waiting = self._waiting
        taken: list[int] = []
        while queue and len(taken) < limit:
            seq = queue.pop()
            if seq in waiting:
                waiting.remove(seq)
                taken.append(seq)
        return taken

    def _pass_over_again(self) -> None:
        while self._again and self._again[0] not in self._waiting:
            heappop(self._again)
