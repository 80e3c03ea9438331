"""A client of an API that allows few calls: token bucket, bounded calls in flight, deadline, and clear refusals.

    python examples/rate_limited_client.py

The API is a small HTTP server that this script starts. It counts its calls, and answers 429 to calls above its limit.
Calls that go through a lane are never refused by the server, and a call that cannot wait long is rejected by the lane
in time. The same calls without a lane are refused by the server.
"""

import sys
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from inorder.lanes import Lane, LaneConfig, Ticket

CALLS = 60
LIMIT, LIMIT_S = 40, 0.5
"""Limit of the API: 40 calls in any half second."""
RATE_PER_S, BURST, IN_FLIGHT = 50, 10, 4
"""Limits of the client: at most 10 + 25 calls in any half second, which leaves a margin for a slow network."""

DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Meter:
    """Counts the calls that the server answered and refused, and how many ran at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest: deque[float] = deque()
        self.served = self.refused = self.in_flight = self.in_flight_max = 0

    def begin_call(self) -> bool:
        """Count a call. Returns whether it is within the limit."""
        with self._lock:
            now_s = time.monotonic()
            while self._latest and now_s - self._latest[0] > LIMIT_S:
                self._latest.popleft()
            self._latest.append(now_s)
            self.in_flight += 1
            self.in_flight_max = max(self.in_flight_max, self.in_flight)
            allowed = len(self._latest) <= LIMIT
            self.served += allowed
            self.refused += not allowed
            return allowed

    def end_call(self) -> None:
        """Count the end of a call."""
        with self._lock:
            self.in_flight -= 1


class Handler(BaseHTTPRequestHandler):
    """Answers one call."""

    meter: Meter

    def do_GET(self) -> None:
        """Answer after a while, or refuse at once."""
        allowed = self.meter.begin_call()
        if allowed:
            time.sleep(0.02)
        self.meter.end_call()
        body = f"answer to {self.path}".encode() if allowed else b"too many requests"
        self.send_response(200 if allowed else 429)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the meter counts."""


@contextmanager
def api(meter: Meter) -> Iterator[str]:
    """Run the server inside a `with` block. Yields its address."""
    handler = type("MeteredHandler", (Handler,), {"meter": meter})
    server = type("Server", (ThreadingHTTPServer,), {"request_queue_size": 128})(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def call(address: str, number: int) -> str:
    """Call the API once. Raises unless the answer is a success."""
    with DIRECT.open(f"{address}/item/{number}", timeout=10) as response:
        return str(response.read().decode())


def call_through_lane(address: str, lane: Lane) -> list[str]:
    """Make all calls, as fast as the limits allow. `submit` waits for a token and a slot."""
    tickets = [lane.submit(call, address, number) for number in range(CALLS)]
    return [ticket.result() for ticket in tickets]


def call_with_deadline(address: str, lane: Lane) -> list[Ticket[str]]:
    """Make calls that wait at most 10 ms for admission, and one that does not wait."""
    waiting = [lane.submit(call, address, number, deadline_s=0.01) for number in range(12)]
    return [*waiting, lane.try_submit(call, address, 12)]


def call_without_lane(address: str) -> int:
    """Make the same calls all at once. Returns how many the server refused."""
    refusals: list[int] = []

    def call_and_count(number: int) -> None:
        try:
            call(address, number)
        except urllib.error.HTTPError as error:
            refusals.append(error.code)

    threads = [threading.Thread(target=call_and_count, args=(number,)) for number in range(CALLS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(refusals)


def main() -> int:
    """Call through the lane, with deadlines, and without the lane, and print the counts."""
    meter = Meter()
    config = LaneConfig(name="api", max_concurrency=IN_FLIGHT, capacity=8, rate_per_s=RATE_PER_S, burst=BURST)
    with api(meter) as address:
        began_s = time.perf_counter()
        with Lane(config) as lane:
            answers = call_through_lane(address, lane)
            lane_s = time.perf_counter() - began_s
            tickets = call_with_deadline(address, lane)
        counted = lane.statistics()
        lane_refusals, in_flight_max = meter.refused, meter.in_flight_max
        direct_refusals = call_without_lane(address)
    admitted = sum(ticket.admitted for ticket in tickets)
    calls = f"{len(answers)} calls in {lane_s:.1f} s, {in_flight_max} at once"
    print(f"through the lane   {calls}, {lane_refusals} refused by the server")
    print(f"wait per call      median {counted.wait_s.p50_s * 1000:.0f} ms, maximum {counted.wait_s.max_s:.2f} s")
    reasons = sorted({str(ticket.reason) for ticket in tickets if not ticket.admitted})
    print(f"with a deadline    {admitted} admitted, {len(tickets) - admitted} rejected ({', '.join(reasons)})")
    print(f"without the lane   {CALLS} calls at once, {direct_refusals} refused by the server")
    print(
        f"statistics         {counted.submitted} submitted = {counted.accepted} accepted + {counted.rejected} rejected"
    )
    is_kept = lane_refusals == 0 and in_flight_max <= IN_FLIGHT and len(answers) == CALLS
    return 0 if is_kept and direct_refusals > 0 and counted.rejected > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
