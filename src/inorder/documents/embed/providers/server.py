"""Dense vectors from a server: Text Embeddings Inference (`tei`), or a server with the OpenAI protocol (`openai`)."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from inorder.documents.embed.providers.base import BatchTally, Matrix, normalize_rows, replace_surrogates
from inorder.errors import StageError
from inorder.lanes import LaneStatistics
from inorder.models.address import parse_address
from inorder.models.calls import ServerCall, ServerCalls
from inorder.models.http import open_server_address, request
from inorder.models.limits import ServerLimits, estimate_tokens


class ServerProtocol(msgspec.Struct, frozen=True):
    """How to build a request for a kind of server, and how to read its response."""

    path: str
    body: Callable[[str, Sequence[str]], object]
    rows: Callable[[bytes], list[list[float]]]


class _OpenAIVector(msgspec.Struct):
    index: int
    embedding: list[float]


class _OpenAIResponse(msgspec.Struct):
    data: list[_OpenAIVector]


def _make_tei_body(_model: str, texts: Sequence[str]) -> object:
    return {"inputs": texts, "normalize": True, "truncate": True}


def _parse_tei_rows(response: bytes) -> list[list[float]]:
    return msgspec.json.decode(response, type=list[list[float]])


def _make_openai_body(model: str, texts: Sequence[str]) -> object:
    return {"model": model, "input": texts, "encoding_format": "float"}


def _parse_openai_rows(response: bytes) -> list[list[float]]:
    vectors = msgspec.json.decode(response, type=_OpenAIResponse).data
    vectors.sort(key=lambda vector: vector.index)
    if [vector.index for vector in vectors] != list(range(len(vectors))):
        raise ValueError("the vectors are not numbered from 0")
    return [vector.embedding for vector in vectors]


PROTOCOLS = {
    "tei": ServerProtocol("/embed", _make_tei_body, _parse_tei_rows),
    "openai": ServerProtocol("/embeddings", _make_openai_body, _parse_openai_rows),
}


_HARMLESS = "dimensions"
"""A text that every model takes."""


def parse_server_address(kind: str, address: str) -> tuple[str, str]:
    """The URL and the model in `URL` or `URL#MODEL`. Raises OperatorError for an invalid one."""
    return parse_address(address, kind, needs_model=kind == "openai")


def open_server(
    kind: str,
    address: str,
    limits: ServerLimits,
    clock: Callable[[], float] = time.monotonic,
    wait: Callable[[float], object] | None = None,
) -> "ServerProvider":
    """The provider at `URL` or `URL#MODEL`, without credentials. No request is sent yet."""
    url, model = parse_server_address(kind, address)
    protocol = PROTOCOLS[kind]
    target = open_server_address(url, protocol.path)
    batches = BatchTally()

    def send(body: bytes, timeout_s: float) -> bytes:
        return request(target, body, timeout_s, limits.answer_bytes_max, calls.note_headers)

    question = msgspec.json.encode(protocol.body(model, [_HARMLESS]))
    place = url.partition("?")[0]
    calls = ServerCalls(kind, send, limits, clock, wait, url=place, question=question, on_retry=batches.add_retry)
    return ServerProvider(f"{kind}:{address}", protocol, model, calls, limits, batches)


class ServerProvider:
    """Splits texts into requests, keeps a few of them in flight, and checks every response."""

    def __init__(
        self,
        name: str,
        protocol: ServerProtocol,
        model: str,
        calls: ServerCalls,
        limits: ServerLimits,
        batches: BatchTally,
    ) -> None:
        self.name = name
        self._protocol = protocol
        self.model = model
        self.device = "server"
        self.batches = batches
        self._calls = calls
        self._limits = limits
        self._lock = threading.Lock()
        self._dimensions = 0

    @property
    def dimensions(self) -> int:
        """As in the first response. If there was none yet, a request is sent."""
        if not self._dimensions:
            self.embed([_HARMLESS])
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row per text, in order."""
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        waiting: deque[tuple[ServerCall, int]] = deque()
        matrices: list[Matrix] = []
        for start in range(0, len(texts), self._limits.texts_max):
            portion = [replace_surrogates(text) for text in texts[start : start + self._limits.texts_max]]
            while waiting and (len(waiting) == self._limits.in_flight or self._calls.must_wait):
                matrices.append(self._collect(*waiting.popleft()))
            waiting.append((self._calls.begin(self._body(portion), estimate_tokens(portion)), len(portion)))
        matrices.extend(self._collect(call, count) for call, count in waiting)
        return normalize_rows(np.concatenate(matrices))

    def statistics(self) -> LaneStatistics:
        """Statistics of the lane that sends the requests."""
        return self._calls.statistics()

    def close(self) -> None:
        """Send no further requests. Idempotent."""
        self._calls.close()

    def _body(self, texts: Sequence[str]) -> bytes:
        return msgspec.json.encode(self._protocol.body(self.model, texts))

    def _collect(self, call: ServerCall, count: int) -> Matrix:
        """The rows of one response, checked."""
        response = self._calls.finish(call)
        try:
            rows = self._protocol.rows(response)
        except (ValueError, msgspec.DecodeError) as error:
            raise self._make_response_error(f"is invalid: {error}") from None
        if len(rows) != count:
            raise self._make_response_error(f"has {len(rows)} vectors for {count} texts")
        with self._lock:
            self._dimensions = self._dimensions or len(rows[0])
        other = next((len(row) for row in rows if len(row) != self._dimensions), None)
        if other is not None or not self._dimensions:
            raise self._make_response_error(f"has a vector of {other or 0} dimensions instead of {self._dimensions}")
        self.batches.add(count)
        return np.array(rows, dtype=np.float32)

    def _make_response_error(self, problem: str) -> StageError:
        return StageError(f"the response of {self.name} {problem}", category="provider")
