"""Vectors from a server: Text Embeddings Inference (`tei`), or whatever speaks OpenAI's protocol (`openai`)."""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

import msgspec
import numpy as np

from inorder.errors import require
from inorder.lanes import LaneStatistics
from inorder.stage.contracts import StageError

from .base import Matrix, encodable, normalised
from .http import KEY_VARIABLE, post
from .server_calls import Call, Calls
from .server_limits import ServerLimits


class Protocol(msgspec.Struct, frozen=True):
    """How a kind of server is asked, and how its answer is read."""

    path: str
    body: Callable[[str, Sequence[str]], object]
    rows: Callable[[bytes], list[list[float]]]


class _Vector(msgspec.Struct):
    index: int
    embedding: list[float]


class _Answer(msgspec.Struct):
    data: list[_Vector]


def _tei_body(_model: str, texts: Sequence[str]) -> object:
    return {"inputs": texts, "normalize": True, "truncate": True}


def _tei_rows(answer: bytes) -> list[list[float]]:
    return msgspec.json.decode(answer, type=list[list[float]])


def _openai_body(model: str, texts: Sequence[str]) -> object:
    return {"model": model, "input": texts, "encoding_format": "float"}


def _openai_rows(answer: bytes) -> list[list[float]]:
    vectors = msgspec.json.decode(answer, type=_Answer).data
    vectors.sort(key=lambda vector: vector.index)
    if [vector.index for vector in vectors] != list(range(len(vectors))):
        raise ValueError("the vectors are not numbered from 0 on")
    return [vector.embedding for vector in vectors]


PROTOCOLS = {
    "tei": Protocol("/embed", _tei_body, _tei_rows),
    "openai": Protocol("/embeddings", _openai_body, _openai_rows),
}


def open_server(
    kind: str,
    address: str,
    limits: ServerLimits,
    clock: Callable[[], float] = time.monotonic,
    wait: Callable[[float], object] | None = None,
) -> "ServerProvider":
    """The provider behind `URL` or `URL#MODEL`. Nothing is asked yet."""
    url, _, model = address.partition("#")
    parts = urlsplit(url)
    require(
        parts.scheme in ("http", "https") and bool(parts.hostname), f"{kind}:URL takes an http address, got {url!r}"
    )
    require(kind != "openai" or bool(model), f"openai:URL#MODEL needs the name of a model: openai:{url}#NAME")
    key = os.environ.get(KEY_VARIABLE)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    protocol = PROTOCOLS[kind]

    def send(body: bytes, timeout_s: float) -> bytes:
        return post(url.rstrip("/") + protocol.path, body, headers, timeout_s, limits.answer_bytes_max)

    return ServerProvider(f"{kind}:{address}", protocol, model, Calls(kind, send, limits, clock, wait), limits)


class ServerProvider:
    """Cuts the texts into requests, keeps a few of them under way, and checks every answer."""

    def __init__(self, name: str, protocol: Protocol, model: str, calls: Calls, limits: ServerLimits) -> None:
        self.name = name
        self._protocol = protocol
        self._model = model
        self._calls = calls
        self._limits = limits
        self._lock = threading.Lock()
        self._dimensions = 0

    @property
    def dimensions(self) -> int:
        """As the first answer showed. Before there was one, the server is asked."""
        if not self._dimensions:
            self.embed(["dimensions"])
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> Matrix:
        """A row for each text, in order."""
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        waiting: deque[tuple[Call, int]] = deque()
        matrices: list[Matrix] = []
        for start in range(0, len(texts), self._limits.texts_max):
            portion = [encodable(text) for text in texts[start : start + self._limits.texts_max]]
            if len(waiting) == self._limits.in_flight:
                matrices.append(self._finished(*waiting.popleft()))
            waiting.append((self._calls.begin(self._body(portion)), len(portion)))
        matrices.extend(self._finished(call, count) for call, count in waiting)
        return normalised(np.concatenate(matrices))

    def statistics(self) -> LaneStatistics:
        """Of the lane that the requests go through."""
        return self._calls.statistics()

    def close(self) -> None:
        """Ask nothing any more. Twice is once."""
        self._calls.close()

    def _body(self, texts: Sequence[str]) -> bytes:
        return msgspec.json.encode(self._protocol.body(self._model, texts))

    def _finished(self, call: Call, count: int) -> Matrix:
        """The rows of one answer, checked."""
        answer = self._calls.finish(call)
        try:
            rows = self._protocol.rows(answer)
        except (ValueError, msgspec.DecodeError) as error:
            raise self._bad(f"is not what was asked for: {error}") from None
        if len(rows) != count:
            raise self._bad(f"has {len(rows)} vectors for {count} texts")
        with self._lock:
            self._dimensions = self._dimensions or len(rows[0])
        other = next((len(row) for row in rows if len(row) != self._dimensions), None)
        if other is not None or not self._dimensions:
            raise self._bad(f"has a vector of {other or 0} dimensions instead of {self._dimensions}")
        return np.array(rows, dtype=np.float32)

    def _bad(self, story: str) -> StageError:
        return StageError(f"the answer of {self.name} {story}", category="provider")
