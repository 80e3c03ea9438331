"""Metrics for Prometheus: the latest run of every stage of every DATA, its files, and the server itself."""

from collections.abc import Sequence

import msgspec
from starlette.responses import Response

from inorder.pipeline.outcome import RunOutcome
from inorder.report.build import read_latest_outcome
from inorder.serve.catalog import Catalog
from inorder.serve.request_metrics import RequestMetrics
from inorder.stage.monitor.latest import read_latest_runs
from inorder.stage.monitor.prometheus import CONTENT_TYPE, format_head, format_metrics, format_sample
from inorder.watch.metrics import format_watches
from inorder.watch.status import WatchPlace

RUN_FILES = "inorder_run_files"
FILE_FAMILIES = {RUN_FILES: ("gauge", "Files of the latest inorder run, under the names of its counts in --json.")}


def answer_metrics(catalog: Catalog, requests: RequestMetrics) -> Response:
    """All metrics in the text format."""
    paths = {name: catalog.get(name).path for name in catalog.names}
    runs = [(name, run) for name, path in paths.items() for run in read_latest_runs(path)]
    outcomes = [(name, found) for name, path in paths.items() if (found := read_latest_outcome(path)) is not None]
    watches = [(name, watch) for name, path in paths.items() if (watch := WatchPlace(path).read()) is not None]
    text = format_metrics(runs) + format_files(outcomes) + format_watches(watches) + requests.format()
    return Response(text, headers={"content-type": CONTENT_TYPE})


def format_files(outcomes: Sequence[tuple[str, RunOutcome]]) -> str:
    """What the latest run of each DATA counted, in files."""
    lines = format_head(RUN_FILES, *FILE_FAMILIES[RUN_FILES]) if outcomes else []
    for data, outcome in outcomes:
        for name, count in msgspec.to_builtins(outcome.counts).items():
            lines.append(format_sample(RUN_FILES, {"data": data, "class": name}, count))
    return "".join(f"{line}\n" for line in lines)
