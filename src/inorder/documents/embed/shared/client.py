"""The providers as a worker process sees them: each call goes to the process that owns the models."""

import os
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from multiprocessing.connection import Connection
from typing import Any

import msgspec
import numpy as np

from inorder.documents.embed.batching import Tokens
from inorder.documents.embed.providers.base import BatchTally, Matrix, SparseVector, replace_surrogates
from inorder.documents.embed.providers.tokenizer import load_tokenizer
from inorder.documents.embed.providers.word_tokenizer import TokenArray
from inorder.engines.base import count_cpus
from inorder.stage.contracts import StageError

from .messages import EmbedReply, EmbedRequest, ProviderInfo, ServiceInfo, pack_tokens, unpack_rows, unpack_sparse

_ENCODER = msgspec.msgpack.Encoder()
_REPLY = msgspec.msgpack.Decoder(EmbedReply)
_INFO = msgspec.msgpack.Decoder(ServiceInfo)
_THREADS = "RAYON_NUM_THREADS"
PORTION_TEXTS = 128
"""Texts of one request. While the model computes them, the next ones are tokenized."""


class ServiceConnection:
    """The connection of one worker process, opened by the first call. Used by one thread."""

    def __init__(self, address: str, workers: int) -> None:
        self._address = address
        self._workers = workers
        self._connection: Connection[Any, Any] | None = None
        self._service: ServiceInfo | None = None

    def get_info(self, family: str) -> ProviderInfo:
        """What the provider of a family is. The first call waits until its model is loaded."""
        if self._service is None:
            self._connect()
        service = self._service or ServiceInfo({})
        if family not in service.providers:
            reason = service.errors.get(family, "unknown reason")
            raise StageError(f"cannot open the {family} provider: {reason}", category="config")
        return service.providers[family]

    def call_all(self, requests: Iterable[EmbedRequest]) -> Iterator[EmbedReply]:
        """Send requests, and yield their replies in order. A request is made while the one before it is computed. If
        the other process ends meanwhile, it is started again, and another attempt can succeed."""
        is_waiting = False
        try:
            for request in requests:
                if is_waiting:
                    is_waiting = False
                    yield self._receive()
                self._send(request)
                is_waiting = True
            if is_waiting:
                is_waiting = False
                yield self._receive()
        finally:
            if is_waiting:
                self._drop()  # the pending reply would be taken for that of the next request

    def _send(self, request: EmbedRequest) -> None:
        self.get_info(request.family)
        with self._translate_end():
            (self._connection or self._connect()).send_bytes(_ENCODER.encode(request))

    def _receive(self) -> EmbedReply:
        with self._translate_end():
            if self._connection is None:
                raise EOFError
            reply = _REPLY.decode(self._connection.recv_bytes())
        if reply.failure is not None:
            failure = reply.failure
            error = StageError(
                failure.message,
                category=failure.category,
                retryable=failure.retryable,
                retry_after_s=failure.wait_ms / 1000,
                outage=failure.outage,
            )
            error.formatted_traceback = failure.detail
            raise error
        return reply

    @contextmanager
    def _translate_end(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, OSError):
            self._drop()
            raise StageError("the process of the provider ended", category="provider", retryable=True) from None

    def _connect(self) -> "Connection[Any, Any]":
        # Each worker process tokenizes on its share of the cores.
        os.environ.setdefault(_THREADS, str(max(1, count_cpus() // max(1, self._workers))))
        end = socket.socket(socket.AF_UNIX)
        with self._translate_end(), end:
            end.connect(self._address)
            self._connection = connection = Connection(end.detach())
            self._service = _INFO.decode(connection.recv_bytes())
            return connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


class RemoteProvider:
    """What a dense and a sparse provider in the other process have in common."""

    def __init__(self, connection: ServiceConnection, family: str) -> None:
        self._connection = connection
        self._family = family
        self.batches = BatchTally()

    @property
    def info(self) -> ProviderInfo:
        """What the provider is."""
        return self._connection.get_info(self._family)

    @property
    def name(self) -> str:
        """The name that files and messages show."""
        return self.info.name

    @property
    def model(self) -> str:
        """The name of the model, for telemetry."""
        return self.info.model

    @property
    def device(self) -> str:
        """The device of the model, for telemetry."""
        return self.info.device

    def close(self) -> None:
        """The connection ends with this process."""

    def _call(self, requests: Iterable[EmbedRequest]) -> Iterator[EmbedReply]:
        for reply in self._connection.call_all(requests):
            self.batches.add_all(reply.batches, reply.batch_texts)
            self.batches.add_retry(reply.retries)
            yield reply


class RemoteDense(RemoteProvider):
    """A dense provider in the other process. Texts are tokenized here, if it has a tokenizer."""

    _dimensions = 0

    @property
    def dimensions(self) -> int:
        """The length of every vector."""
        return self._dimensions or self.info.dimensions or self.embed(["dimensions"]).shape[1]

    @cached_property
    def _tokenize(self) -> Callable[[Sequence[str]], Sequence[Tokens | TokenArray]] | None:
        info = self.info
        return None if info.tokenizer is None else load_tokenizer(info.tokenizer, by=info.name, extra="onnx")

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row per text, in order."""
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        parts = [unpack_rows(reply) for reply in self._call(self._make_requests(texts))]
        self._dimensions = parts[0].shape[1]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _make_requests(self, texts: Sequence[str]) -> Iterator[EmbedRequest]:
        tokenize = self._tokenize
        if tokenize is None:
            yield EmbedRequest(family=self._family, texts=[replace_surrogates(text) for text in texts])
            return
        for start in range(0, len(texts), PORTION_TEXTS):
            tokens, lengths = pack_tokens(tokenize(texts[start : start + PORTION_TEXTS]))
            yield EmbedRequest(family=self._family, tokens=tokens, lengths=lengths)


class RemoteSparse(RemoteProvider):
    """A sparse provider in the other process."""

    @property
    def vocabulary_size(self) -> int:
        """Number of terms; every term is below it."""
        return self.info.vocabulary_size

    def encode(self, texts: Sequence[str]) -> list[SparseVector]:
        """One vector per text, in order."""
        if not texts:
            return []
        request = EmbedRequest(family=self._family, texts=[replace_surrogates(text) for text in texts])
        [reply] = self._call([request])
        return unpack_sparse(reply)
