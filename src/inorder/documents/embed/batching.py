"""Many callers, one model: small documents share batches.

There are two lanes. In the first, the texts of a caller are tokenised and put on the tray as an *order*. In the second
the orders wait for the only thread that runs the model. Whose turn it is takes everything that lies on the tray, not
only its own: sorts all texts by length, cuts batches of so many tokens, runs them, and fills in everybody's rows. Those
whose orders were taken along find them done when their own turn comes. So batches grow with the number of callers,
tokenising goes on while the model computes, and when the lanes are full, callers wait.

The rows of a text do not depend on the texts beside it, but for the noise of floating-point sums. A batch that fails is
run again order by order, so that an error reaches only the caller whose texts cause it.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

import msgspec
import numpy as np

from inorder.lanes import Lane, LaneConfig, LaneStatistics, NotAdmitted, TaskCancelled, Ticket
from inorder.stage.contracts import StageError

from .providers.base import Matrix

Tokens = Sequence[int]


class Encoder(Protocol):
    """A model, as the batcher knows it."""

    @property
    def dimensions(self) -> int:
        """Of every row."""
        ...

    @property
    def batch_tokens_max(self) -> int:
        """Tokens in a batch, padding included, that the model runs well with."""
        ...

    @property
    def length_ratio_min(self) -> float:
        """What the shortest text of a batch must have of the tokens of its longest; 0 where nothing is padded."""
        ...

    def tokenise(self, texts: Sequence[str]) -> Sequence[Tokens]:
        """The tokens of each text, cut to what the model can take. Any thread may ask, several at once."""
        ...

    def begin(self, batch: Sequence[Tokens]) -> Callable[[], Matrix]:
        """Start on a batch; the answer gives its rows. One thread only, and the answers are asked for in order."""
        ...

    def close(self) -> None:
        """Let go of the model."""
        ...


class BatchLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Every limit of a batcher, with its reason."""

    portion_texts: int = 256
    """Texts of a caller's first order, if it has more: so that the model starts before all are tokenised."""
    portion_texts_max: int = 1024
    """Each further order is twice as large, up to this: a tokenizer is quicker with many texts at once."""
    taken_texts_max: int = 8192
    """Texts that are sorted together: enough for batches of even length, few enough to give rows back soon."""
    tokenising_max: int = 2
    """Portions tokenised at a time: a tokenizer uses all cores by itself, but not while its answer is unpacked."""
    orders_max: int = 16
    """Orders that wait for the model beyond the one it is at: bounds the tokens in memory."""
    begun_max: int = 2
    """Batches begun and not finished: one computes while the next is handed over."""
    close_s: float = 10.0
    """How long closing waits for the model to come back from a batch."""


class _Order:
    """Texts of one caller, and the rows they become."""

    def __init__(self, tokens: Sequence[Tokens], dimensions: int) -> None:
        self.tokens = tokens
        self.rows: Matrix = np.zeros((len(tokens), dimensions), dtype=np.float32)
        self.missing = len(tokens)
        self.error: Exception | None = None

    def place(self, number: int, row: Matrix) -> None:
        self.rows[number] = row
        self.missing -= 1


class _Piece(NamedTuple):
    """One text of an order."""

    order: _Order
    number: int

    @property
    def tokens(self) -> Tokens:
        return self.order.tokens[self.number]


class Batcher:
    """Safe for any number of threads."""

    def __init__(self, name: str, encoder: Encoder, limits: BatchLimits | None = None) -> None:
        self._encoder = encoder
        self._limits = limits or BatchLimits()
        self._lock = threading.Lock()
        self._tray: deque[_Order] = deque()
        self._tokenising = Lane(
            LaneConfig(name=f"{name}-tokens", max_concurrency=self._limits.tokenising_max, capacity=1)
        )
        self._computing = Lane(LaneConfig(name=name, max_concurrency=1, capacity=self._limits.orders_max))

    def embed(self, texts: Sequence[str]) -> Matrix:
        """A row for each text, in order, as the model gives it."""
        tickets: list[Ticket[Ticket[Matrix]]] = []
        try:
            tickets.extend(self._tokenising.submit(self._order, portion) for portion in self._portions(texts))
            rows = [ticket.result().result() for ticket in tickets]
        except (NotAdmitted, TaskCancelled):
            raise StageError("the provider was closed", category="provider") from None
        finally:
            for ticket in tickets:
                ticket.cancel()
        return np.concatenate(rows) if rows else np.zeros((0, self._encoder.dimensions), dtype=np.float32)

    def statistics(self) -> LaneStatistics:
        """Of the lane in which the model is waited for."""
        return self._computing.statistics()

    def close(self) -> None:
        """Take no more orders, and tell those who wait. Twice is once."""
        self._computing.close(drain=False, timeout_s=self._limits.close_s)
        self._tokenising.close(drain=False, timeout_s=self._limits.close_s)
        self._encoder.close()

    def _portions(self, texts: Sequence[str]) -> Iterator[Sequence[str]]:
        start, size = 0, self._limits.portion_texts
        while start < len(texts):
            yield texts[start : start + size]
            start, size = start + size, min(2 * size, self._limits.portion_texts_max)

    def _order(self, texts: Sequence[str]) -> Ticket[Matrix]:
        """The task in the first lane: tokenise, and queue for the model."""
        order = _Order(self._encoder.tokenise(texts), self._encoder.dimensions)
        with self._lock:
            self._tray.append(order)
        return self._computing.submit(self._serve, order)

    # ---- On the thread that owns the model

    def _serve(self, order: _Order) -> Matrix:
        """The task in the second lane: see that this order is done, and others with it."""
        taken = self._take(order)
        if taken:
            self._compute([_Piece(each, number) for each in taken for number in range(len(each.tokens))])
        if order.error is not None:
            raise order.error
        if order.missing:
            raise RuntimeError(f"{order.missing} rows of {len(order.tokens)} were not made")
        return order.rows

    def _take(self, wanted: _Order) -> list[_Order]:
        """This order and whatever else there is, within the limit; nothing if somebody took it along before."""
        taken: list[_Order] = []
        texts = 0
        with self._lock:
            has_to_be_found = wanted in self._tray
            while self._tray and (has_to_be_found or texts + len(self._tray[0].tokens) <= self._limits.taken_texts_max):
                order = self._tray.popleft()
                has_to_be_found = has_to_be_found and order is not wanted
                texts += len(order.tokens)
                taken.append(order)
        return taken

    def _compute(self, pieces: list[_Piece]) -> None:
        begun: deque[tuple[list[_Piece], Callable[[], Matrix]]] = deque()
        for batch in _batches(pieces, self._encoder.batch_tokens_max, self._encoder.length_ratio_min):
            if len(begun) >= self._limits.begun_max:
                self._finish(*begun.popleft())
            try:
                begun.append((batch, self._encoder.begin([piece.tokens for piece in batch])))
            except Exception as error:
                self._after_failure(batch, error)
        while begun:
            self._finish(*begun.popleft())

    def _finish(self, batch: list[_Piece], rows_of: Callable[[], Matrix]) -> None:
        try:
            rows = rows_of()
            if rows.shape != (len(batch), self._encoder.dimensions):
                raise RuntimeError(f"the model gave {rows.shape} for {len(batch)} texts")
        except Exception as error:
            self._after_failure(batch, error)
            return
        for piece, row in zip(batch, rows, strict=True):
            piece.order.place(piece.number, row)

    def _after_failure(self, batch: list[_Piece], error: Exception) -> None:
        """Find out whose fault it is: each order's part is run by itself, where there is more than one."""
        orders = list(dict.fromkeys(piece.order for piece in batch))
        if len(orders) == 1:
            orders[0].error = error
            return
        for order in orders:
            part = [piece for piece in batch if piece.order is order]
            try:
                rows_of = self._encoder.begin([piece.tokens for piece in part])
            except Exception as own_error:
                order.error = own_error
            else:
                self._finish(part, rows_of)


def _batches(pieces: list[_Piece], tokens_max: int, length_ratio_min: float) -> Iterator[list[_Piece]]:
    """Longest first, each batch as many of like length as fit when all are padded to its longest; at least one."""
    pieces.sort(key=lambda piece: -len(piece.tokens))
    start = 0
    while start < len(pieces):
        longest = len(pieces[start].tokens)
        last, end = start + tokens_max // max(1, longest), start + 1
        while end < min(last, len(pieces)) and len(pieces[end].tokens) >= length_ratio_min * longest:
            end += 1
        yield pieces[start:end]
        start = end
