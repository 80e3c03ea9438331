"""The process of the providers: it owns the models, and embeds the texts of all worker processes.

A worker process connects, receives the list of providers, and sends requests one after the other. There is a thread per
connection; the threads share the batches of the provider. So the texts of many documents are in one batch, and the
interpreter that runs the model does nothing else.
"""

import contextlib
import socket
import sys
import threading
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

import msgspec
import numpy as np

from inorder.documents.embed.providers.base import DenseProvider, SparseProvider
from inorder.documents.embed.providers.local_model import ModelProvider
from inorder.documents.embed.providers.registry import open_dense, open_sparse
from inorder.engines.attempt import classify_error
from inorder.engines.process.lifeline import bind_to_parent, watch_parent
from inorder.errors import OperatorError, StageError
from inorder.host.credentials import Credentials, keep_credentials
from inorder.models.limits import ServerLimits
from inorder.stage.monitor.gpu import read_own_gpu_memory_bytes

from .messages import EmbedReply, EmbedRequest, ProviderInfo, ServiceInfo, unpack_tokens

_WATCH_S = 1.0
_SWITCH_S = 0.0005
"""How long a thread may keep the interpreter when another one waits for it. Most often that is the thread of the model:
it waits after each operation that has released the interpreter, while the threads of connections unpack texts."""
NO_GPU = -1
_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(EmbedRequest)
Providers = dict[str, DenseProvider | SparseProvider]


def serve_providers(
    listener: socket.socket,
    lifeline: "Connection[Any, Any]",
    gpu_bytes: Any,
    specs: Mapping[str, str],
    limits: ServerLimits,
    credentials: Mapping[str, Credentials],
) -> None:
    """Entry point of the process: open the providers, and serve connections until the parent ends. `gpu_bytes` is a
    shared number in which the memory on GPUs is kept up to date."""
    bind_to_parent()
    keep_credentials(credentials)
    sys.setswitchinterval(_SWITCH_S)

    def note_gpu_memory() -> None:
        size = read_own_gpu_memory_bytes()
        gpu_bytes.value = NO_GPU if size is None else size

    threading.Thread(target=watch_parent, args=(lifeline, _WATCH_S, note_gpu_memory), daemon=True).start()
    providers, errors = open_all(specs, limits)
    greeting = _ENCODER.encode(ServiceInfo({family: describe(each) for family, each in providers.items()}, errors))
    while True:
        connection, _ = listener.accept()
        arguments = (Connection(connection.detach()), providers, greeting)
        threading.Thread(target=_serve_connection, args=arguments, daemon=True).start()


def open_all(specs: Mapping[str, str], limits: ServerLimits) -> tuple[Providers, dict[str, str]]:
    """The provider of each family, or why it cannot be opened."""
    providers: Providers = {}
    errors: dict[str, str] = {}
    for family, spec in specs.items():
        try:
            providers[family] = open_dense(spec, limits) if family == "dense" else open_sparse(spec)
        except OperatorError as error:
            errors[family] = str(error)
        except Exception as error:
            errors[family] = classify_error(error).message
    return providers, errors


def describe(provider: Any) -> ProviderInfo:
    """What a worker process must know of a provider. A server is not called for it."""
    is_model = isinstance(provider, ModelProvider)
    return ProviderInfo(
        name=provider.name,
        model=getattr(provider, "model", ""),
        device=getattr(provider, "device", "cpu"),
        dimensions=provider.dimensions if is_model else 0,
        vocabulary_size=getattr(provider, "vocabulary_size", 0),
        tokenizer=provider.tokenizer if is_model else None,
    )


def _serve_connection(connection: "Connection[Any, Any]", providers: Providers, greeting: bytes) -> None:
    """Answer the requests of one worker process until it closes the connection or dies."""
    with contextlib.suppress(EOFError, OSError), connection:
        connection.send_bytes(greeting)
        while True:
            request = _DECODER.decode(connection.recv_bytes())
            connection.send_bytes(_ENCODER.encode(answer(providers[request.family], request)))


def answer(provider: Any, request: EmbedRequest) -> EmbedReply:
    """The vectors of a request, or why there are none."""
    try:
        reply = _embed(provider, request)
    except OperatorError as error:
        return EmbedReply(failure=classify_error(error))
    except ValueError as error:
        return EmbedReply(failure=classify_error(StageError(f"{provider.name}: {error}", category="runtime")))
    except Exception as error:
        return EmbedReply(failure=classify_error(error))
    tally = getattr(provider, "batches", None)
    batches, texts = (1, reply.batch_texts) if tally is None else tally.take()
    retries = 0 if tally is None else tally.take_retries()
    return msgspec.structs.replace(reply, batches=batches, batch_texts=texts, retries=retries)


def _embed(provider: Any, request: EmbedRequest) -> EmbedReply:
    if request.family == "sparse":
        vectors = provider.encode(request.texts)
        return EmbedReply(
            counts=[len(indices) for indices, _ in vectors],
            indices=b"".join(np.asarray(indices, np.int32).tobytes() for indices, _ in vectors),
            weights=b"".join(np.asarray(weights, np.float32).tobytes() for _, weights in vectors),
            batch_texts=len(vectors),
        )
    if request.lengths:
        rows = provider.embed_tokens(unpack_tokens(request.tokens, request.lengths))
    else:
        rows = provider.embed(request.texts)
    return EmbedReply(rows=np.ascontiguousarray(rows, np.float32).tobytes(), width=rows.shape[1], batch_texts=len(rows))
