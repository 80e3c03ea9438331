"""Starts the counting process, and asks it for what it has counted."""

import contextlib
import socket
import weakref
from collections.abc import Mapping, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import msgspec

from inorder.documents.embed.corpus import unpack_totals
from inorder.documents.embed.shared.sockets import UnixListener
from inorder.documents.layout import CHUNK, EMBED
from inorder.engines.process.spawner import start_process
from inorder.stage.store.database import open_store

from .counts import CorpusSummary
from .messages import CountsReply, CountsRequest
from .service import serve_counts

DOCUMENTS_MIN = 500
"""Fewer documents are counted in less time than it takes to start a process."""
_JOIN_S = 5.0
_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(CountsReply)


def is_worth_counting(data: str) -> bool:
    """Whether a run that begins now commits many documents to an empty store."""
    chunks, vectors = open_store(data, CHUNK), open_store(data, EMBED)
    is_empty = vectors is None or not vectors.count()
    return is_empty and chunks is not None and chunks.count() >= DOCUMENTS_MIN


class CountingProcess:
    """The counting process of one run, as its driver sees it. It ends with this object, or after it has answered."""

    def __init__(self, data: str, families: Sequence[str]) -> None:
        listener = UnixListener("counts")
        self._remove = weakref.finalize(self, listener.close)  # a run that failed does not call `close`
        self.address = listener.address
        context = get_context("spawn")
        theirs, self._lifeline = context.Pipe(duplex=False)
        arguments = (listener.socket, theirs, data, list(families))
        self._process = context.Process(target=serve_counts, args=arguments, name="inorder-counting", daemon=True)
        start_process(self._process)
        theirs.close()
        listener.socket.close()  # if the process dies, connections are refused

    @property
    def process_id(self) -> int | None:
        """The id of the process."""
        return self._process.pid

    def close(self) -> None:
        """End the process. Idempotent."""
        self._lifeline.close()
        self._process.kill()
        self._process.join(_JOIN_S)
        self._remove()


def ask_for_counts(address: str, documents: Mapping[str, int]) -> CorpusSummary | None:
    """The statistics of the corpus, which has this number of documents in each family; None: they were not counted."""
    end = socket.socket(socket.AF_UNIX)
    with contextlib.suppress(EOFError, OSError), end:
        end.connect(address)
        connection: Connection[Any, Any] = Connection(end.detach())
        with connection:
            connection.send_bytes(_ENCODER.encode(CountsRequest(dict(documents))))
            reply = _DECODER.decode(connection.recv_bytes())
        if reply.families:
            return CorpusSummary(unpack_totals(reply.families), reply.statistics, reply.terms, reply.length)
    return None
