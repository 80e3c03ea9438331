"""Metrics of the server itself: requests by route and status, and their duration."""

import time
from bisect import bisect_left
from collections import Counter
from threading import Lock

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inorder.stage.monitor.prometheus import format_head, format_sample

BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
REQUESTS = "inorder_serve_requests_total"
SECONDS = "inorder_serve_request_seconds"
STREAMS = "inorder_serve_streams"
SERVER_FAMILIES = {
    REQUESTS: ("counter", "Requests to the server, by route and status."),
    SECONDS: ("histogram", "Time until the first byte of an answer."),
    STREAMS: ("gauge", "Live pages that are open."),
}


class RequestMetrics:
    """Counts requests. Thread-safe."""

    def __init__(self) -> None:
        self.streams = 0
        self._lock = Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}

    def record(self, route: str, status: int, seconds: float) -> None:
        """Add one request."""
        with self._lock:
            self._requests[route, status] += 1
            buckets = self._buckets.setdefault(route, [0] * (len(BOUNDS_S) + 1))
            buckets[bisect_left(BOUNDS_S, seconds)] += 1
            self._seconds[route] = self._seconds.get(route, 0.0) + seconds

    def format(self) -> str:
        """The metrics in the text format."""
        with self._lock:
            requests, sums = dict(self._requests), dict(self._seconds)
            buckets = {route: list(counts) for route, counts in self._buckets.items()}
        lines = format_head(REQUESTS, *SERVER_FAMILIES[REQUESTS])
        for (route, status), count in sorted(requests.items()):
            lines.append(format_sample(REQUESTS, {"route": route, "status": str(status)}, count))
        lines += format_head(SECONDS, *SERVER_FAMILIES[SECONDS])
        for route, counts in sorted(buckets.items()):
            seen = 0
            for bound, count in zip((*map(str, BOUNDS_S), "+Inf"), counts, strict=True):
                seen += count
                lines.append(format_sample(f"{SECONDS}_bucket", {"route": route, "le": bound}, seen))
            lines.append(format_sample(f"{SECONDS}_sum", {"route": route}, round(sums[route], 6)))
            lines.append(format_sample(f"{SECONDS}_count", {"route": route}, seen))
        lines += format_head(STREAMS, *SERVER_FAMILIES[STREAMS])
        lines.append(f"{STREAMS} {self.streams}")
        return "".join(f"{line}\n" for line in lines)


class MeasuredApp:
    """Measures every request. The route of a path that is not served is `other`, so that their number is bounded."""

    def __init__(self, app: ASGIApp, metrics: RequestMetrics, routes: frozenset[str]) -> None:
        self._app = app
        self._metrics = metrics
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started_s = time.monotonic()
        path = scope["path"]
        route = path if path in self._routes else "/static" if path.startswith("/static/") else "other"

        async def send_measured(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._metrics.record(route, message["status"], time.monotonic() - started_s)
            await send(message)

        await self._app(scope, receive, send_measured)
