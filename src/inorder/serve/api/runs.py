"""Runs: their reports, the list of them, and a stream of what changes."""

from collections.abc import AsyncIterator
from typing import Annotated

import anyio
import msgspec
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from inorder.host.spelling import encode_spelled
from inorder.report.build import build_report
from inorder.report.model import PipelineReport
from inorder.report.runs import list_runs, list_stages
from inorder.serve.catalog import Catalog
from inorder.serve.live import LiveFeed, make_live_report
from inorder.serve.options import STREAMS_MAX
from inorder.serve.problems import RequestError, TooBusy
from inorder.serve.request_metrics import RequestMetrics
from inorder.stage.monitor.latest import list_telemetry

from .endpoint import DataParams, make_error, read_params

LIVE_PATH = "/api/live"
_RUNS_SHOWN_MAX = 2
_LISTED_MAX = 100
_INTERVAL_S = 1.0
_ENCODER = msgspec.json.Encoder()
_HEARTBEAT_S = 15.0

RunIds = Annotated[
    str, msgspec.Meta(max_length=200, description="Id of a run, or two ids with a comma; default: the latest runs.")
]


class ReportParams(DataParams, frozen=True, kw_only=True):
    """Which runs."""

    run: RunIds = ""

    @property
    def run_ids(self) -> list[str]:
        """The ids."""
        found = [part.strip() for part in self.run.split(",") if part.strip()]
        if len(found) > _RUNS_SHOWN_MAX:
            raise RequestError(f"give at most {_RUNS_SHOWN_MAX} runs")
        return found


class ListedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run."""

    stage: str
    run_id: str
    started_ms: int
    is_latest: bool


class RunList(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of DATA, the latest first, and the number of all of them."""

    total: int
    runs: list[ListedRun]


def answer_report(catalog: Catalog, params: ReportParams) -> PipelineReport:
    """The report of runs as data."""
    return build_report(catalog.get(params.data).path, params.run_ids)


def answer_runs(catalog: Catalog, params: DataParams) -> RunList:
    """List the runs."""
    data = catalog.get(params.data).path
    files = list_telemetry(f"{data}/telemetry")
    found = [run for stage in list_stages(data) for run in list_runs(data, stage, files)]
    found.sort(key=lambda run: run.started_ms, reverse=True)
    listed = [
        ListedRun(stage=run.stage, run_id=run.run_id, started_ms=run.started_ms, is_latest=run.is_latest)
        for run in found[:_LISTED_MAX]
    ]
    return RunList(total=len(found), runs=listed)


class _LiveResponse(StreamingResponse):
    """A stream of events, which counts as open from when it is made: a page that asks at the same time must see it."""

    def __init__(self, events: AsyncIterator[bytes], metrics: RequestMetrics) -> None:
        super().__init__(events, headers={"content-type": "text/event-stream; charset=utf-8"})
        self._metrics = metrics
        metrics.streams += 1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events, until there are no more or the client is gone."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._metrics.streams -= 1


class LiveStreams:
    """Streams of server-sent events: `progress` when a number has changed, `report` when the page has."""

    def __init__(self, catalog: Catalog, metrics: RequestMetrics, interval_s: float = _INTERVAL_S) -> None:
        self._catalog = catalog
        self._metrics = metrics
        self._interval_s = interval_s
        self._feeds: dict[str, LiveFeed] = {}

    async def answer(self, request: Request) -> Response:
        """Open a stream, or say why not."""
        try:
            params = read_params(ReportParams, request)
            data = self._catalog.get(params.data).path
            run_ids = params.run_ids
            if self._metrics.streams >= STREAMS_MAX:
                raise TooBusy(f"{STREAMS_MAX} live pages are open already")
        except RequestError as error:
            return make_error(error)
        return _LiveResponse(self._stream_runs(data, run_ids) if run_ids else self._stream(data), self._metrics)

    async def _stream(self, data: str) -> AsyncIterator[bytes]:
        feed = self._feeds.setdefault(data, LiveFeed(data))
        progress, version, sent_s = None, 0, anyio.current_time()
        while True:
            latest = await run_sync(feed.read_progress)
            if latest != progress:
                progress, sent_s = latest, anyio.current_time()
                yield encode_event("progress", latest)
            report = await run_sync(feed.read_report)
            if report.version != version:
                version, sent_s = report.version, anyio.current_time()
                yield encode_event("report", report)
            if anyio.current_time() - sent_s >= _HEARTBEAT_S:
                sent_s = anyio.current_time()
                yield b": still here\n\n"
            await anyio.sleep(self._interval_s)

    async def _stream_runs(self, data: str, run_ids: list[str]) -> AsyncIterator[bytes]:
        """Chosen runs are shown once: they do not change."""
        try:
            report = await run_sync(lambda: make_live_report(data, run_ids, 1, dataset=False))
        except Exception as error:
            yield encode_event("problem", {"error": " ".join(str(error).split())})
            return
        yield encode_event("report", report)
        yield encode_event("end", {})


def encode_event(name: str, value: object) -> bytes:
    """One event. JSON has no line breaks outside of strings, and escapes those inside."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), encode_spelled(_ENCODER, value))
