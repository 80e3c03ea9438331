"""A worker process tokenizes texts while the model computes those before them."""

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from inorder.documents.embed.shared.client import PORTION_TEXTS, RemoteDense, ServiceConnection
from inorder.documents.embed.shared.messages import EmbedReply, EmbedRequest, ProviderInfo, ServiceInfo
from inorder.errors import Category, Failure
from inorder.stage.contracts import StageError

pytestmark = pytest.mark.req("DAT-4")
GUARD_S = 60.0
WIDTH = 2
Answer = Callable[[EmbedRequest], EmbedReply]


def answer_lengths(request: EmbedRequest) -> EmbedReply:
    """A vector of a text is the number of its tokens, twice."""
    rows = np.repeat(np.array(request.lengths, np.float32), WIDTH)
    return EmbedReply(rows=rows.tobytes(), width=WIDTH)


@contextmanager
def serving(path: Path, answer: Answer) -> Iterator[list[EmbedRequest]]:
    """A service on a thread. Gives the requests that it has got; ends with its last connection."""
    got: list[EmbedRequest] = []
    greeting = ServiceInfo({"dense": ProviderInfo(name="test", dimensions=WIDTH)})
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def serve(connection: Any) -> None:
        connection.send_bytes(msgspec.msgpack.encode(greeting))
        try:
            while True:
                got.append(msgspec.msgpack.decode(connection.recv_bytes(), type=EmbedRequest))
                connection.send_bytes(msgspec.msgpack.encode(answer(got[-1])))
        except (EOFError, OSError):
            connection.close()

    def accept() -> None:
        while True:
            try:
                end, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(Connection(end.detach()),), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield got
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def open_provider(path: Path, tokenize: Callable[[Sequence[str]], Sequence[Sequence[int]]]) -> RemoteDense:
    provider = RemoteDense(ServiceConnection(str(path), workers=1), "dense")
    provider.__dict__["_tokenize"] = tokenize
    return provider


def test_the_next_texts_are_tokenized_while_a_request_is_computed(tmp_path: Path) -> None:
    is_got, is_next_tokenized = threading.Event(), threading.Event()
    tokenized: list[int] = []

    def answer(request: EmbedRequest) -> EmbedReply:
        is_got.set()
        assert is_next_tokenized.wait(GUARD_S)
        return answer_lengths(request)

    def tokenize(texts: Sequence[str]) -> Sequence[Sequence[int]]:
        if tokenized:
            assert is_got.wait(GUARD_S), "the first request is on its way"
            is_next_tokenized.set()
        tokenized.append(len(texts))
        return [[7] * len(text) for text in texts]

    texts = ["x" * (number % 9) for number in range(2 * PORTION_TEXTS + 1)]
    with serving(tmp_path / "service", answer) as got:
        rows = open_provider(tmp_path / "service", tokenize).embed(texts)
    assert tokenized == [PORTION_TEXTS, PORTION_TEXTS, 1]
    assert [len(request.lengths) for request in got] == tokenized
    assert rows[:, 0].tolist() == [len(text) for text in texts]


@pytest.mark.parametrize("culprit", ["tokenizer", "model"])
def test_after_a_failure_no_reply_is_taken_for_that_of_another_request(tmp_path: Path, culprit: str) -> None:
    refused = EmbedReply(failure=Failure(category=Category.PROVIDER, message="refused"))

    def answer(request: EmbedRequest) -> EmbedReply:
        return refused if culprit == "model" and 3 in request.lengths else answer_lengths(request)

    def tokenize(texts: Sequence[str]) -> Sequence[Sequence[int]]:
        if culprit == "tokenizer" and "xxx" in texts:
            raise ValueError("cannot be tokenized")
        return [[7] * len(text) for text in texts]

    with serving(tmp_path / "service", answer):
        provider = open_provider(tmp_path / "service", tokenize)
        with pytest.raises((ValueError, StageError), match=r"tokenized|refused"):
            provider.embed(["x"] * PORTION_TEXTS + ["xxx"] + ["xx"] * PORTION_TEXTS)
        assert provider.embed(["xxxxx"])[:, 0].tolist() == [5]
