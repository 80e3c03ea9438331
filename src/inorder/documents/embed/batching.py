"""Share one model among many callers, so that the texts of small documents are batched together.

A caller tokenizes its texts, which become a pending *request*. In a lane, a task per request waits for the only thread
that runs the model. A task takes all pending requests, not only its own: it sorts their texts by length, splits them
into batches with a token budget, runs the batches, and fills in the rows of every request. When the turn of the other
tasks comes, their requests are already done. So batches grow with the number of callers, and callers wait when the lane
is full.

The row of a text does not depend on the other texts, except for rounding of floating-point sums. A batch that fails is
run again request by request, so that an error reaches only the caller whose texts cause it.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

import msgspec
import numpy as np

from inorder.errors import StageError
from inorder.lanes import Lane, LaneConfig, LaneStatistics, NotAdmitted, TaskCancelled, Ticket

from .providers.base import Matrix

Tokens = Sequence[int]


class Encoder(Protocol):
    """A model, as the batcher uses it."""

    @property
    def dimensions(self) -> int:
        """The length of every row."""
        ...

    @property
    def batch_tokens_max(self) -> int:
        """The largest efficient batch in tokens, padding included."""
        ...

    @property
    def length_ratio_min(self) -> float:
        """The least length of a text relative to the longest one of its batch; 0 if nothing is padded."""
        ...

    def tokenize(self, texts: Sequence[str]) -> Sequence[Tokens]:
        """The tokens of each text, truncated to what the model accepts. Thread-safe."""
        ...

    def begin(self, batch: Sequence[Tokens]) -> Callable[[], Matrix]:
        """Start a batch, and return a function that waits for its rows. Called from one thread, which calls the
        functions in the same order."""
        ...

    def close(self) -> None:
        """Release the model."""
        ...


class BatchLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a batcher."""

    sorted_texts_max: int = 8192
    """Texts that are sorted together: enough for batches of similar length, few enough to return rows soon."""
    requests_max: int = 16
    """Requests that wait for the model besides the current one. Bounds the tokens in memory."""
    batches_started_max: int = 2
    """Batches that are started and not finished: one computes while the next is transferred."""
    close_s: float = 10.0
    """How long `close` waits for the current batch."""


class _BatchRequest:
    """Texts of one caller, and their rows."""

    def __init__(self, tokens: Sequence[Tokens], dimensions: int) -> None:
        self.tokens = tokens
        self.rows: Matrix = np.zeros((len(tokens), dimensions), dtype=np.float32)
        self.missing = len(tokens)
        self.error: Exception | None = None
        self.ended = threading.Event()
        """Set when all rows are there, or the request has failed."""

    def set_row(self, number: int, row: Matrix) -> None:
        self.rows[number] = row
        self.missing -= 1
        if not self.missing:
            self.ended.set()


class _BatchText(NamedTuple):
    """One text of a request."""

    request: _BatchRequest
    number: int

    @property
    def tokens(self) -> Tokens:
        return self.request.tokens[self.number]


class Batcher:
    """Embeds the texts of many callers with one model. Thread-safe."""

    def __init__(
        self,
        name: str,
        encoder: Encoder,
        limits: BatchLimits | None = None,
        on_batch: Callable[[int], None] = lambda texts: None,
    ) -> None:
        self._encoder = encoder
        self._on_batch = on_batch
        """Called with the number of texts of every batch that was computed."""
        self._limits = limits or BatchLimits()
        self._lock = threading.Lock()
        self._pending: deque[_BatchRequest] = deque()
        self._computing = Lane(LaneConfig(name=name, max_concurrency=1, capacity=self._limits.requests_max))

    def embed(self, texts: Sequence[str]) -> Matrix:
        """A row per text, in order, as the model returns it."""
        return self.embed_tokens(self._encoder.tokenize(texts))

    def embed_tokens(self, tokens: Sequence[Tokens]) -> Matrix:
        """A row per text that is tokenized already. Returns as soon as these rows are there, while the model goes on
        with those of others."""
        if not tokens:
            return np.zeros((0, self._encoder.dimensions), dtype=np.float32)
        request = _BatchRequest(tokens, self._encoder.dimensions)
        try:
            ticket = self._queue(request)
            ticket.when_done(request.ended.set)
            request.ended.wait()
            return request.rows if not request.missing else ticket.result()
        except (NotAdmitted, TaskCancelled):
            raise StageError("the provider was closed", category="provider") from None

    def statistics(self) -> LaneStatistics:
        """Statistics of the lane in which requests wait for the model."""
        return self._computing.statistics()

    def close(self) -> None:
        """Refuse further calls, and fail those that wait. Idempotent."""
        self._computing.close(drain=False, timeout_s=self._limits.close_s)
        self._encoder.close()

    def _queue(self, request: _BatchRequest) -> Ticket[Matrix]:
        with self._lock:
            self._pending.append(request)
        return self._computing.submit(self._serve, request)

    # ---- on the thread that owns the model

    def _serve(self, request: _BatchRequest) -> Matrix:
        """The task of the lane: compute the rows of this request, and of others with it."""
        taken = self._take(request)
        if taken:
            self._compute([_BatchText(each, number) for each in taken for number in range(len(each.tokens))])
        if request.error is not None:
            raise request.error
        if request.missing:
            raise RuntimeError(f"{request.missing} rows of {len(request.tokens)} were not computed")
        return request.rows

    def _take(self, wanted: _BatchRequest) -> list[_BatchRequest]:
        """This request and other pending ones, within the limit; none if this one was taken by an earlier task."""
        taken: list[_BatchRequest] = []
        texts = 0
        with self._lock:
            is_wanted_pending = wanted in self._pending
            while self._pending and (
                is_wanted_pending or texts + len(self._pending[0].tokens) <= self._limits.sorted_texts_max
            ):
                request = self._pending.popleft()
                is_wanted_pending = is_wanted_pending and request is not wanted
                texts += len(request.tokens)
                taken.append(request)
        return taken

    def _compute(self, texts: list[_BatchText]) -> None:
        started: deque[tuple[list[_BatchText], Callable[[], Matrix]]] = deque()
        for batch in _split_batches(texts, self._encoder.batch_tokens_max, self._encoder.length_ratio_min):
            if len(started) >= self._limits.batches_started_max:
                self._finish(*started.popleft())
            try:
                started.append((batch, self._encoder.begin([text.tokens for text in batch])))
            except Exception as error:
                self._retry_by_request(batch, error)
        while started:
            self._finish(*started.popleft())

    def _finish(self, batch: list[_BatchText], wait_for_rows: Callable[[], Matrix]) -> None:
        try:
            rows = wait_for_rows()
            if rows.shape != (len(batch), self._encoder.dimensions):
                raise RuntimeError(f"the model returned {rows.shape} for {len(batch)} texts")
        except Exception as error:
            self._retry_by_request(batch, error)
            return
        self._on_batch(len(batch))
        for text, row in zip(batch, rows, strict=True):
            text.request.set_row(text.number, row)

    def _retry_by_request(self, batch: list[_BatchText], error: Exception) -> None:
        """Run the texts of each request by themselves, to find those that cause the error."""
        requests = list(dict.fromkeys(text.request for text in batch))
        if len(requests) == 1:
            requests[0].error = error
            return
        for request in requests:
            part = [text for text in batch if text.request is request]
            try:
                wait_for_rows = self._encoder.begin([text.tokens for text in part])
            except Exception as own_error:
                request.error = own_error
            else:
                self._finish(part, wait_for_rows)


def _split_batches(texts: list[_BatchText], tokens_max: int, length_ratio_min: float) -> Iterator[list[_BatchText]]:
    """Batches of texts of similar length, longest first. A batch with more than one text stays within `tokens_max` when
    it is padded to its longest text. If nothing is padded, texts stay in order: the first request ends first."""
    if not length_ratio_min:
        yield from _split_in_order(texts, tokens_max)
        return
    texts.sort(key=lambda text: -len(text.tokens))
    start = 0
    while start < len(texts):
        longest = len(texts[start].tokens)
        last, end = start + tokens_max // max(1, longest), start + 1
        while end < min(last, len(texts)) and len(texts[end].tokens) >= length_ratio_min * longest:
            end += 1
        yield texts[start:end]
        start = end


def _split_in_order(texts: list[_BatchText], tokens_max: int) -> Iterator[list[_BatchText]]:
    batch: list[_BatchText] = []
    total = 0
    for text in texts:
        count = len(text.tokens)
        if batch and total + count > tokens_max:
            yield batch
            batch, total = [], 0
        batch.append(text)
        total += count
    if batch:
        yield batch
