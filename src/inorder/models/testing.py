"""A server of models for tests: it answers as a script says, has the faults of real ones, and counts exactly."""

import json
import math
import random
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Literal

import msgspec

from inorder.errors import require

from .limits import estimate_tokens

Fault = Literal[
    "busy", "busy without a header", "error", "hang", "cut", "truncated", "wrong schema", "slow", "empty", "loop"
]
"""What a request can meet: 429 with `Retry-After`, 429 without, 500, no response, a connection that is cut, a response
that ends too early, a response of another form, one that arrives byte by byte, an empty answer, an answer that repeats
a line."""
FAULTS: tuple[Fault, ...] = (
    "busy",
    "busy without a header",
    "error",
    "hang",
    "cut",
    "truncated",
    "wrong schema",
    "slow",
    "empty",
    "loop",
)
_UNANSWERED = FAULTS[:7]
_IMAGE_TOKENS = 1000
_OUTPUT_TOKENS = 4096
_WINDOW_S = 60.0
_SLOW_PARTS = 20
_DIMENSIONS = 8
_BODY_BYTES_MAX = 2**30


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a chat request asks.

    >>> ModelRequest(model="m", text="Read it.", images=(), key="0" * 64, body={}).output_tokens_max
    4096
    """

    model: str
    text: str
    """All texts of all messages."""
    images: tuple[str, ...]
    """Their URLs."""
    key: str
    """The SHA-256 of the messages, under which the request is counted."""
    body: dict[str, Any]

    @property
    def schema(self) -> dict[str, Any] | None:
        """The JSON Schema that the answer is to have."""
        found = self.body.get("response_format", {}).get("json_schema", {}).get("schema")
        return found if isinstance(found, dict) else None

    @property
    def output_tokens_max(self) -> int:
        """The longest answer that it allows."""
        return int(self.body.get("max_tokens") or self.body.get("max_completion_tokens") or _OUTPUT_TOKENS)

    @property
    def tokens_in(self) -> int:
        """A token for four bytes of text, and 1,000 for an image."""
        return estimate_tokens([self.text]) + _IMAGE_TOKENS * len(self.images)


def _answer_by_key(request: ModelRequest) -> str:
    return f"answer {request.key[:12]}"


class ModelServer:
    """A server with the chat and embeddings protocols of OpenAI on a port of this machine.

    `answer` is the text of every answer, or makes it of a `ModelRequest`. `faults` are those of the first requests, one
    each. After them, a request meets one of `random_faults` with the probability `fault_rate`; which one depends on
    `seed`, on what is asked, and on how often that was asked, and not on the order of requests. `latency_s` is the time
    until an answer. With `tokens_per_minute`, requests above it get 429; `charged` says whether a request counts with
    what it declares or with what it has used, and `sends_headers` whether responses have `x-ratelimit-*`. With `key`,
    others get 401.

    >>> import json, urllib.request
    >>> with ModelServer(answer="lamp") as server:
    ...     body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "What is it?"}]}).encode()
    ...     with urllib.request.urlopen(f"{server.url}/chat/completions", body) as response:
    ...         answer = json.load(response)["choices"][0]["message"]["content"]
    >>> answer, server.answered.total()
    ('lamp', 1)
    """

    def __init__(
        self,
        *,
        answer: str | Callable[[ModelRequest], str] = _answer_by_key,
        faults: Sequence[Fault] = (),
        fault_rate: float = 0.0,
        random_faults: Sequence[Fault] = ("busy", "busy without a header", "error", "cut", "truncated"),
        seed: int = 0,
        latency_s: float = 0.0,
        retry_after_s: int = 1,
        tokens_per_minute: int | None = None,
        charged: Literal["declared", "used"] = "declared",
        sends_headers: bool = False,
        key: str = "",
        port: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        require({*faults, *random_faults} <= set(FAULTS), f"faults must be among {', '.join(FAULTS)}")
        self._answer = answer
        self._faults = deque(faults)
        self._fault_rate = fault_rate
        self._random_faults = tuple(random_faults)
        self._seed = seed
        self._latency_s = latency_s
        self._retry_after_s = retry_after_s
        self._sends_headers = sends_headers
        self._key = key
        self._window = TokenWindow(tokens_per_minute, charged, clock)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.is_down = False
        """While this is true, every request gets 503."""
        self.asked: Counter[str] = Counter()
        """How often each key was asked."""
        self.answered: Counter[str] = Counter()
        """How often each key was answered, with a response that was sent whole."""
        self.requests: list[ModelRequest] = []
        self.tokens_in = self.tokens_out = 0
        """Of all answers."""
        self.statuses: Counter[int] = Counter()
        self.in_flight = self.in_flight_max = 0
        self._server = _Server(("127.0.0.1", port), type("_Handler", (_Handler,), {"owner": self}))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the server, and the requests that hang. Idempotent."""
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> "ModelServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- Requests

    def _begin(self, request: ModelRequest) -> Fault | None:
        """Count a request, and choose what it meets."""
        with self._lock:
            self.asked[request.key] += 1
            self.requests.append(request)
            if self._faults:
                return self._faults.popleft()
            chance = random.Random(f"{self._seed} {request.key} {self.asked[request.key]}")
            if self._random_faults and chance.random() < self._fault_rate:
                return chance.choice(self._random_faults)
            return None

    def _note_answer(self, request: ModelRequest, tokens_out: int) -> None:
        with self._lock:
            self.answered[request.key] += 1
            self.tokens_in += request.tokens_in
            self.tokens_out += tokens_out

    def _note_status(self, status: int) -> None:
        with self._lock:
            self.statuses[status] += 1

    def _move(self, change: int) -> None:
        with self._lock:
            self.in_flight += change
            self.in_flight_max = max(self.in_flight_max, self.in_flight)


class TokenWindow:
    """The tokens of the last minute, as a server counts them. Thread-safe."""

    def __init__(
        self, limit: int | None, charged: Literal["declared", "used"], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.limit = limit
        self._charged = charged
        self._clock = clock
        self._lock = threading.Lock()
        self._recent: deque[list[float]] = deque()
        self.most = 0.0
        """The most tokens in one minute, with those of requests that were refused."""

    def take(self, declared: int, tokens_in: int) -> list[float] | None:
        """Count a request; None: there is no room for it."""
        tokens = declared if self._charged == "declared" else tokens_in
        with self._lock:
            now_s, used = self._sum()
            self.most = max(self.most, used + tokens)
            if self.limit is not None and used + tokens > self.limit:
                return None
            entry = [now_s, float(tokens)]
            self._recent.append(entry)
            return entry

    def settle(self, entry: list[float], tokens: int) -> None:
        """Count what a request has used."""
        if self._charged == "used":
            with self._lock:
                entry[1] = float(tokens)

    def read(self) -> tuple[int, float]:
        """Return the tokens that are left, and the seconds until some are free again."""
        with self._lock:
            now_s, used = self._sum()
            reset_s = self._recent[0][0] + _WINDOW_S - now_s if self._recent else 0.0
            return max(0, int((self.limit or 0) - used)), reset_s

    def _sum(self) -> tuple[float, float]:
        now_s = self._clock()
        while self._recent and self._recent[0][0] <= now_s - _WINDOW_S:
            self._recent.popleft()
        return now_s, sum(tokens for _, tokens in self._recent)


class _Server(ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that has gone away."""


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    owner: ClassVar[ModelServer]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    _is_in_flight = False

    def do_GET(self) -> None:
        """List the models."""
        if self._is_allowed():
            self._send_json({"object": "list", "data": [{"id": "m", "object": "model"}]})

    def do_POST(self) -> None:
        """Answer a request."""
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(min(size, _BODY_BYTES_MAX))
        if not self._is_allowed():
            return
        self._enter()
        try:
            found = json.loads(body)
            if self.path.partition("?")[0].endswith("/embeddings"):
                self._send_vectors(found)
            else:
                self._chat(_parse_request(found))
        finally:
            self._leave()

    def _enter(self) -> None:
        self._is_in_flight = True
        self.owner._move(1)

    def _leave(self) -> None:
        """Count a request as answered. Called before its end is sent: then the client may send another."""
        if self._is_in_flight:
            self._is_in_flight = False
            self.owner._move(-1)

    def _is_allowed(self) -> bool:
        owner = self.owner
        if owner.is_down:
            self._send_error(503, "down")
        elif owner._key and self.headers.get("Authorization") != f"Bearer {owner._key}":
            self._send_error(401, "wrong key")
        else:
            return True
        return False

    def _chat(self, request: ModelRequest) -> None:
        owner = self.owner
        fault = owner._begin(request)
        if fault == "busy":
            return self._send_error(429, "busy", {"Retry-After": str(owner._retry_after_s)})
        if fault == "busy without a header":
            return self._send_error(429, "busy")
        if fault == "error":
            return self._send_error(500, "failed")
        if fault == "hang":
            owner._closing.wait()
            return self._cut()
        if fault == "cut":
            return self._cut()
        entry = owner._window.take(request.tokens_in + request.output_tokens_max, request.tokens_in)
        if entry is None:
            _, reset_s = owner._window.read()
            headers = {"Retry-After": str(math.ceil(reset_s))} if owner._sends_headers else {}
            return self._send_error(429, "too many tokens", headers)
        if owner._latency_s:
            owner._closing.wait(owner._latency_s)
        if fault == "wrong schema":
            return self._send_json({"choices": "none"})
        text = owner._answer if isinstance(owner._answer, str) else owner._answer(request)
        text = {"empty": "", "loop": "the same line\n" * 200}.get(fault or "", text)
        allowed = text.encode()[: 4 * request.output_tokens_max].decode(errors="ignore")
        tokens_out = estimate_tokens([allowed])
        owner._window.settle(entry, request.tokens_in + tokens_out)
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": allowed},
            "finish_reason": "stop" if allowed == text else "length",
        }
        usage = {"prompt_tokens": request.tokens_in, "completion_tokens": tokens_out}
        response = {"id": request.key[:12], "model": request.model, "choices": [choice], "usage": usage}
        body = json.dumps(response).encode()
        if fault == "truncated":
            self._send(body[: len(body) // 2], length=len(body))
            return self._cut()
        if fault not in _UNANSWERED:
            owner._note_answer(request, tokens_out)
        self._send(body, is_slow=fault == "slow")
        return None

    def _send_vectors(self, found: Mapping[str, Any]) -> None:
        texts = found["input"] if isinstance(found["input"], list) else [found["input"]]
        data = [{"index": number, "embedding": _make_vector(text)} for number, text in enumerate(texts)]
        self._send_json({"object": "list", "model": found.get("model", ""), "data": data})

    def _send_json(self, value: object) -> None:
        self._send(json.dumps(value).encode())

    def _send_error(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        self._send(json.dumps({"error": {"message": message}}).encode(), status, headers)

    def _send(
        self,
        body: bytes,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        *,
        length: int | None = None,
        is_slow: bool = False,
    ) -> None:
        self.owner._note_status(status)
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in {**self._list_limits(), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        step = max(1, len(body) // _SLOW_PARTS) if is_slow else max(1, len(body))
        for start in range(0, len(body), step):
            if start + step >= len(body):
                self._leave()
            self.wfile.write(body[start : start + step])
            if is_slow:
                self.owner._closing.wait(0.01)

    def _list_limits(self) -> dict[str, str]:
        window = self.owner._window
        if window.limit is None or not self.owner._sends_headers:
            return {}
        left, reset_s = window.read()
        return {
            "x-ratelimit-limit-tokens": str(window.limit),
            "x-ratelimit-remaining-tokens": str(left),
            "x-ratelimit-reset-tokens": f"{reset_s:.3f}s",
        }

    def _cut(self) -> None:
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def _parse_request(body: Any) -> ModelRequest:
    texts: list[str] = []
    images: list[str] = []
    for message in body["messages"]:
        content = message["content"]
        parts: Any = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for part in parts:
            if part["type"] == "text":
                texts.append(part["text"])
            else:
                images.append(part["image_url"]["url"])
    key = sha256(json.dumps(body["messages"], sort_keys=True).encode()).hexdigest()
    return ModelRequest(model=body["model"], text="\n".join(texts), images=tuple(images), key=key, body=body)


def _make_vector(text: str) -> list[float]:
    values = [byte - 127.5 for byte in sha256(text.encode()).digest()[:_DIMENSIONS]]
    length = math.sqrt(sum(value * value for value in values))
    return [value / length for value in values]
