"""Metrics for Prometheus: the latest run of every stage of every DATA, and the server itself."""

from starlette.responses import Response

from inorder.serve.catalog import Catalog
from inorder.serve.request_metrics import RequestMetrics
from inorder.stage.monitor.latest import read_latest_runs
from inorder.stage.monitor.prometheus import CONTENT_TYPE, format_metrics
from inorder.watch.metrics import format_watches
from inorder.watch.status import WatchPlace


def answer_metrics(catalog: Catalog, requests: RequestMetrics) -> Response:
    """All metrics in the text format."""
    runs = [(name, run) for name in catalog.names for run in read_latest_runs(catalog.get(name).path)]
    found = ((name, WatchPlace(catalog.get(name).path).read()) for name in catalog.names)
    watches = format_watches([(name, watch) for name, watch in found if watch is not None])
    return Response(format_metrics(runs) + watches + requests.format(), headers={"content-type": CONTENT_TYPE})
