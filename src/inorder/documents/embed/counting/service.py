"""The counting process: it reads the vectors that a run has committed while the run goes on, so that little is left to
count after the last document.

Rows of the store are numbered in the order in which they are written, and a run of a store that was empty replaces
none. So what was counted is right if the store still belongs to the same run, and has as many documents as were
counted. Otherwise the worker that asks counts all documents itself, as it does if this process has died.
"""

import select
import socket
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

import msgspec

from inorder.documents.layout import EMBED
from inorder.engines.process.lifeline import bind_to_parent, watch_parent
from inorder.stage.store.database import StoreReader, close_readers, open_store

from .messages import CountsReply, CountsRequest

if TYPE_CHECKING:
    from .counts import CorpusCounts

_WATCH_S = 1.0
_LOOK_S = 0.05
"""How often the process looks for new rows."""
_ROWS = 512
_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(CountsRequest)


def serve_counts(listener: socket.socket, lifeline: "Connection[Any, Any]", data: str, families: Sequence[str]) -> None:
    """Entry point of the process: count until a worker process asks, answer it, and end."""
    bind_to_parent()
    threading.Thread(target=watch_parent, args=(lifeline, _WATCH_S, lambda: None), daemon=True).start()
    counter = CorpusFollower(data, families)
    while not select.select([listener], [], [], _LOOK_S)[0]:
        counter.read_new()
    accepted, _ = listener.accept()
    with Connection(accepted.detach()) as connection:
        request = _DECODER.decode(connection.recv_bytes())
        reply = counter.answer(request)
        close_readers()  # while a process reads a store, its log files stay
        connection.send_bytes(_ENCODER.encode(reply))


class CorpusFollower:
    """Counts the vectors that a run commits to the store."""

    def __init__(self, data: str, families: Sequence[str]) -> None:
        self._data = data
        self._families = families
        self._counts: CorpusCounts | None = None
        self._run = 0
        """The identity of the run whose rows were read."""
        self._last = 0
        """The number of the last row that was read."""

    def read_new(self) -> None:
        """Count what was committed since the last call."""
        self._read_rows()
        if self._counts is not None:
            self._counts.terms.settle()

    def _read_rows(self) -> None:
        store = open_store(self._data, EMBED)
        if store is None:
            return
        run = store.read_position().checksum
        self._run = self._run or run
        while run and run == self._run and self._read_block(store):
            pass

    def answer(self, request: CountsRequest) -> CountsReply:
        """The statistics of the documents that the request describes."""
        from inorder.documents.embed.corpus import pack_totals

        from .counts import summarize_counts

        self._read_rows()
        store, counts = open_store(self._data, EMBED), self._counts
        if store is None or counts is None or store.read_position().checksum != self._run:
            return CountsReply()
        if request.documents != {family: total.documents for family, total in counts.totals.items()}:
            return CountsReply()
        summary = summarize_counts(counts.totals, counts.terms)
        return CountsReply(
            families=pack_totals(summary.totals),
            statistics=summary.statistics,
            terms=summary.terms,
            length=summary.length,
        )

    def _read_block(self, store: StoreReader) -> bool:
        """Count the next rows. Returns whether there were some."""
        rows = store.read_written(self._last, _ROWS, without_content="dense/")
        if not rows:
            return False
        from inorder.documents.embed.stored_terms import unpack_stored_terms
        from inorder.documents.layout import make_vector_result

        from .counts import CorpusCounts

        counts = self._counts = self._counts or CorpusCounts(self._families)
        for number, item, content in rows:
            self._last = number
            family = item.item_id.partition("/")[0]
            if family == "lexical":
                counts.add_terms(unpack_stored_terms(content))
            elif family in counts.totals:
                counts.add_vectors(family, make_vector_result(self._data, family, item))
        return True
