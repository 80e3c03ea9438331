"""Limits of embedding providers behind a server. The server is a function that is called instead of `http.request`."""

import json
import math
import time
from collections.abc import Callable
from typing import Any

from tests.wiring.doors import WiredRun
from tests.wiring.own_rows import read_manifest, run_stages
from tests.wiring.row import OptionRow, index_rows

BASE = ("--dense", "tei:http://server", "--retries", "0", "--policy", "io")
LONG_S = 100
"""Nothing waits as long as this for another thread, only for a rate."""


class FakeServer:
    """What arrives at the server, and what its client waits for."""

    def __init__(self, run: WiredRun) -> None:
        from inorder.documents.embed.providers import server as provider
        from inorder.lanes.waiters import ThreadWaker
        from inorder.models.calls import ServerCalls

        self.sizes: list[int] = []
        """Texts per request."""
        self.timeouts: list[float] = []
        self.waits: list[float] = []
        self.begun = 0
        self.begun_at_first_response = 0
        self.error: Exception | None = None
        self._skipped_s = 0.0
        server = self

        class WatchedCalls(ServerCalls):
            def __init__(self, *arguments: Any, **others: Any) -> None:
                super().__init__(*arguments[:3], clock=server._read_clock, wait=server.waits.append, **others)

            def begin(self, *arguments: Any) -> Any:
                server.begun += 1
                return super().begin(*arguments)

            def finish(self, call: Any) -> bytes:
                server.begun_at_first_response = server.begun_at_first_response or server.begun
                return super().finish(call)

        run.patch.setattr(provider, "ServerCalls", WatchedCalls)
        run.patch.setattr(provider, "request", self._answer)
        run.patch.setattr(ThreadWaker, "wait", self._skip_long_waits(ThreadWaker.wait))

    def _read_clock(self) -> float:
        return time.monotonic() + self._skipped_s

    def _skip_long_waits(self, wait: Callable[[Any, float], None]) -> Callable[[Any, float], None]:
        def wait_or_skip(waker: Any, timeout_s: float) -> None:
            if LONG_S < timeout_s < math.inf:
                self._skipped_s += timeout_s
            else:
                wait(waker, timeout_s)

        return wait_or_skip

    def _answer(self, endpoint: Any, body: bytes, timeout_s: float, *_: Any) -> bytes:
        texts = json.loads(body)["inputs"]
        if self.error is not None and texts == ["dimensions"]:  # it is asked whether it is down
            raise self.error
        self.sizes.append(len(texts))
        self.timeouts.append(timeout_s)
        if self.error is not None:
            raise self.error
        return json.dumps([[1.0, 0.0]] * len(texts)).encode()


def embed(run: WiredRun, *arguments: str) -> FakeServer:
    """Embed a document of seven chunks."""
    server = FakeServer(run)
    run_stages(run, "doctags", "chunk", arguments=("--tokens-max", "10"), is_set=False)
    run.command("embed", "--quiet", "--workers", "1", *BASE, *arguments)
    return server


def count_begun(run: WiredRun) -> int:
    """How many requests are sent before the first response is awaited."""
    return embed(run, "--set", "server_texts_max=1").begun_at_first_response


def name_status(*arguments: str) -> Callable[[WiredRun], str]:
    """How a document ends that takes two requests, with less time for both than the second waits at a low rate. The
    harmless request after it waits for the rest, and has time left for its answer."""

    def probe(run: WiredRun) -> str:
        embed(run, "--set", "server_texts_max=4", "--set", "server_deadline_s=600", *arguments)
        return str(read_manifest(run, "embed")[0]["status"])

    return probe


def measure_pace(run: WiredRun) -> int:
    """How long the second request waits, in units of ten seconds: as long as the first takes at this rate."""
    return round(sum(embed(run, "--set", "server_texts_max=4").waits) / 10)


def list_sizes(run: WiredRun) -> list[int]:
    return sorted(embed(run).sizes)


def count_attempts(run: WiredRun) -> int:
    from inorder.models.http import RetryableError

    server = FakeServer(run)
    server.error = RetryableError("busy")
    run_stages(run, "doctags", "chunk", arguments=(), is_set=False)
    run.command("embed", "--quiet", "--workers", "1", "--set", "outage_s_max=0", *BASE)
    return len(server.sizes)


def get_timeout(run: WiredRun) -> int:
    return math.ceil(max(embed(run).timeouts))


SERVER_ROWS = index_rows(
    OptionRow("server_in_flight", count_begun, [(1, 1), (3, 3)]),
    OptionRow("server_rate_per_s", name_status(), [(None, "success"), (0.001, "failure")]),
    OptionRow("server_burst", name_status("--set", "server_rate_per_s=0.001"), [(1, "failure"), (2, "success")]),
    OptionRow("server_tokens_per_minute", measure_pace, [(None, 0), (6, 37), (60, 4)]),
    OptionRow("server_texts_max", list_sizes, [(2, [1, 2, 2, 2]), (5, [2, 5])]),
    OptionRow("server_attempts_max", count_attempts, [(1, 1), (3, 3)]),
    OptionRow("server_deadline_s", get_timeout, [(7.0, 7), (70.0, 70)]),
)
"""Every limit of a server."""
