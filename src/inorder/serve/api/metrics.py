"""Metrics for Prometheus: the latest run of every stage of every DATA, and the server itself."""

from starlette.responses import Response

from inorder.serve.catalog import Catalog
from inorder.serve.request_metrics import RequestMetrics
from inorder.stage.monitor.latest import read_latest_runs
from inorder.stage.monitor.prometheus import CONTENT_TYPE, format_metrics


def answer_metrics(catalog: Catalog, requests: RequestMetrics) -> Response:
    """All metrics in the text format."""
    runs = [(name, run) for name in catalog.names for run in read_latest_runs(catalog.get(name).path)]
    return Response(format_metrics(runs) + requests.format(), headers={"content-type": CONTENT_TYPE})
