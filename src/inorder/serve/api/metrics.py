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

_RUN_FILES = "inorder_run_files"
FILE_FAMILIES = {
    _RUN_FILES: ("gauge", "Files of the latest inorder run, under the names of its counts in --json."),
    "inorder_documents": ("gauge", "Documents that can be searched."),
    "inorder_source_files": ("gauge", "Source files that can be searched."),
    "inorder_pages_without_text": ("gauge", "Pages without text in the files of the latest inorder run."),
    "inorder_files_without_text": ("gauge", "Files of the latest inorder run of which some page has no text."),
}
"""Names and help of what a run counts. Without the prefix, they are the fields of its outcome."""


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
    lines: list[str] = []
    for name, (kind, text) in FILE_FAMILIES.items() if outcomes else ():
        lines += format_head(name, kind, text)
        for data, outcome in outcomes:
            found = {"": getattr(outcome, name.removeprefix("inorder_"), 0)}
            if name == _RUN_FILES:
                found = msgspec.to_builtins(outcome.counts)
            for key, count in found.items():
                lines.append(format_sample(name, {"data": data} | ({"class": key} if key else {}), count))
    return "".join(f"{line}\n" for line in lines)
