"""A client of an API that allows few calls: token bucket, bounded calls in flight, deadline, and clear refusals.

    python examples/rate_limited_client.py

The API is a small HTTP server on this machine, started here. It counts its calls, and answers 429 to whoever calls too
often. A client whose calls go through a lane is never told off, and one that cannot wait long learns in time that it is
not its turn. A client without a lane is told off.
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
"""What the API allows: 40 calls in any half second."""
RATE_PER_S, BURST, IN_FLIGHT = 50, 10, 4
"""What the client grants itself: at most 10 + 25 in any half second, which leaves room for a slow network."""

DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Meter:
    """What the server saw: how often, how many at once, and whom it told off."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest: deque[float] = deque()
        self.served = self.refused = self.in_flight = self.in_flight_max = 0

    def arrives(self) -> bool:
        """Whether this call is within the limit."""
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

    def leaves(self) -> None:
        """The call has been answered."""
        with self._lock:
            self.in_flight -= 1


class Handler(BaseHTTPRequestHandler):
    """One call."""

    meter: Meter

    def do_GET(self) -> None:
        """Answer after a while, or refuse at once."""
        allowed = self.meter.arrives()
        if allowed:
            time.sleep(0.02)
        self.meter.leaves()
        body = f"answer to {self.path}".encode() if allowed else b"too many requests"
        self.send_response(200 if allowed else 429)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the meter counts."""


@contextmanager
def api(meter: Meter) -> Iterator[str]:
    """The server, for as long as the block lasts; its address."""
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
    """The work: one call of the API. An answer that is not a success raises."""
    with DIRECT.open(f"{address}/item/{number}", timeout=10) as response:
        return str(response.read().decode())


def through_the_lane(address: str, lane: Lane) -> list[str]:
    """All calls, as fast as the limits allow; `submit` waits for a token and a place."""
    tickets = [lane.submit(call, address, number) for number in range(CALLS)]
    return [ticket.result() for ticket in tickets]


def in_a_hurry(address: str, lane: Lane) -> list[Ticket[str]]:
    """Calls that wait 10 ms at most, then one that does not wait at all: each knows in time whether it got in."""
    patient = [lane.submit(call, address, number, deadline_s=0.01) for number in range(12)]
    return [*patient, lane.try_submit(call, address, 12)]


def without_the_lane(address: str) -> int:
    """The same calls, all at once; how many were told off."""
    told_off: list[int] = []

    def rush(number: int) -> None:
        try:
            call(address, number)
        except urllib.error.HTTPError as error:
            told_off.append(error.code)

    threads = [threading.Thread(target=rush, args=(number,)) for number in range(CALLS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(told_off)


def main() -> int:
    """Call politely, in a hurry, and rudely, and print what came of it."""
    meter = Meter()
    config = LaneConfig(name="api", max_concurrency=IN_FLIGHT, capacity=8, rate_per_s=RATE_PER_S, burst=BURST)
    with api(meter) as address:
        began_s = time.perf_counter()
        with Lane(config) as lane:
            answers = through_the_lane(address, lane)
            polite_s = time.perf_counter() - began_s
            hurried = in_a_hurry(address, lane)
        counted = lane.statistics()
        polite_refusals, in_flight_max = meter.refused, meter.in_flight_max
        rude_refusals = without_the_lane(address)
    admitted = sum(ticket.admitted for ticket in hurried)
    calls = f"{len(answers)} calls in {polite_s:.1f} s, {in_flight_max} at once"
    print(f"through the lane   {calls}, {polite_refusals} told off")
    print(
        f"waited for a turn  {counted.wait_s.p50_s * 1000:.0f} ms at the median, {counted.wait_s.max_s:.2f} s at most"
    )
    reasons = sorted({str(ticket.reason) for ticket in hurried if not ticket.admitted})
    print(f"in a hurry         {admitted} admitted, {len(hurried) - admitted} rejected ({', '.join(reasons)})")
    print(f"without the lane   {CALLS} calls at once, {rude_refusals} told off")
    print(
        f"the lane's books   {counted.submitted} submitted = {counted.accepted} accepted + {counted.rejected} rejected"
    )
    kept = polite_refusals == 0 and in_flight_max <= IN_FLIGHT and len(answers) == CALLS
    return 0 if kept and rude_refusals > 0 and counted.rejected > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
