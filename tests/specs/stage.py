"""Tables of the pages on the stage runner and on observability."""

import inspect
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from inorder import WorkItem
from inorder.runtime import run_options
from inorder.serve.api.metrics import FILE_FAMILIES
from inorder.serve.request_metrics import SERVER_FAMILIES
from inorder.stage import contracts, freshness
from inorder.stage import options as stage_options
from inorder.stage.data_layout import RESERVED_FOLDERS, DataLayout, resolve_output
from inorder.stage.manifest.rows import BASE_FIELDS, VOLATILE_FIELDS
from inorder.stage.monitor.attempt_log import ATTEMPT_STATUSES
from inorder.stage.monitor.lane_metrics import LANE_FAMILIES
from inorder.stage.monitor.metrics import METRICS
from inorder.stage.monitor.otel import INSTRUMENTS
from inorder.stage.monitor.progress import StageProgress, format_line, format_stopping
from inorder.stage.monitor.prometheus import FAMILIES
from inorder.stage.monitor.telemetry import EVENTS, RUN_EVENTS
from inorder.watch.metrics import WATCH_FAMILIES
from tests.specs.declared import fields_of
from tests.specs.pages import code, table
from tests.stage.jobs import Place


def _fields(class_name: str, *, module: ModuleType = contracts, defaults: bool = True) -> str:
    fields = list(fields_of(module, class_name))
    if not defaults:
        return table(("field", "meaning"), [(code(field.name), field.meaning) for field in fields])
    rows = [(code(field.name), code(field.default) if field.default else "required", field.meaning) for field in fields]
    return table(("field", "default", "meaning"), rows)


def item() -> str:
    return _fields("WorkItem")


def options() -> str:
    own = {field.name: field for field in fields_of(stage_options, "StageOptions")}
    shared = {field.name: field for field in fields_of(run_options, "RunOptions")}
    rows = [(code(field.name), code(field.default), field.meaning) for field in (own | (shared | own)).values()]
    return table(("field", "default", "meaning"), rows)


def outcome() -> str:
    return _fields("StageOutcome", defaults=False)


def row() -> str:
    volatile = ["yes" if name in VOLATILE_FIELDS else "" for name in BASE_FIELDS]
    rows = zip(map(code, BASE_FIELDS), BASE_FIELDS.values(), volatile, strict=True)
    return table(("field", "meaning", "volatile"), rows)


def data_layout() -> str:
    found = DataLayout("/DATA", "STAGE")
    meanings = {
        found.manifest: "one row per item and run",
        found.journal: "where an interrupted run resumes",
        found.lock: "held during a run; names its process",
        found.live: "what a run that is under way waits for; removed in the end",
        found.cache: "hashes of files; may be deleted",
        found.staging: "results that are not committed yet: outputs, and the result log; empty after a run that ended",
        found.telemetry_path("RUN"): "events and metrics of one run",
        found.attempts_path("RUN"): "start and end of every attempt of one run, with `attempts_log`",
    }
    assert {path.split("/")[2] for path in meanings} == set(RESERVED_FOLDERS)
    return table(("path", "content"), [(code(path[1:]), meaning) for path, meaning in meanings.items()])


# Whether an item is done


def freshness_reasons() -> str:
    def other_config(place: Place) -> WorkItem:
        return place.item("a", cfg_hash="2")

    def other_names(place: Place) -> WorkItem:
        (place.data / "loud" / "more.txt").write_text("more")
        return place.item("a", outputs={"loud": "loud/a.txt", "more": "loud/more.txt"})

    situations: list[tuple[str, Callable[[Place], Any]]] = [
        ("nothing", lambda place: None),
        ("an input", lambda place: place.source("a", "other")),
        ("an input, gone", lambda place: (place.sources / "a").unlink()),
        ("`cfg_hash`", other_config),
        ("the names of its outputs", other_names),
        ("an output, altered", lambda place: (place.data / "loud" / "a.txt").write_text("TEXT OF B\n")),
        ("an output, emptied", lambda place: (place.data / "loud" / "a.txt").write_text("")),
        ("an output, gone", lambda place: (place.data / "loud" / "a.txt").unlink()),
        ("the fingerprint, gone", lambda place: (place.data / "loud" / "a.txt.fp.json").unlink()),
        ("it declares no outputs", lambda place: place.item("a", outputs={})),
    ]
    rows = []
    for label, change in situations:
        with tempfile.TemporaryDirectory() as folder:
            place = Place(Path(folder))
            place.run([place.item("a")])
            changed = change(place)
            asked = changed if isinstance(changed, WorkItem) else place.item_as_it_is("a")
            rows.append((label, *(_check(place, asked, fingerprinting) for fingerprinting in (True, False))))
    return table(("changed since it was made", "with fingerprints", "without"), rows)


def _check(place: Place, asked: WorkItem, fingerprinting: bool) -> str:
    found = freshness.check(asked, os.fspath(place.data), fingerprinting=fingerprinting)
    return f"{'skipped' if found.is_satisfied else 'done'}: {found.reason}"


def output_paths() -> str:
    tried = ("loud/a.txt", "/DATA/loud/a.txt", "/a.txt", "../a.txt", "./a.txt", "a//b", "", "manifests/a", "x" * 248)
    rows = [(code(_short(path)) if path else "(empty)", _placed(path)) for path in tried]
    return table(("output", "published as"), rows)


def _placed(path: str) -> str:
    try:
        return code(resolve_output("/DATA", path))
    except ValueError as error:
        return f"refused: {str(error).replace(path, _short(path)) if path else error}"


def _short(path: str) -> str:
    return path if len(path) < 40 else f"{path[:3]}... ({len(path)} bytes)"


# What can be seen


def events() -> str:
    rows = [(code(name), fields, meaning) for name, (fields, meaning) in RUN_EVENTS.items()]
    for kind, name in EVENTS.items():
        fields = ", ".join(kind.__struct_fields__)
        rows.append((code(name), fields, _first_sentence(kind)))
    return table(("event", "fields", "meaning"), rows)


def _first_sentence(kind: type) -> str:
    said = " ".join((inspect.getdoc(kind) or "").split())
    return said.partition(". ")[0].rstrip(".")


def metrics() -> str:
    return table(("metric", "kind", "meaning"), [(code(name), *said) for name, said in METRICS.items()])


def instruments() -> str:
    return table(("instrument", "kind", "meaning"), [(code(name), *said) for name, said in INSTRUMENTS.items()])


def prometheus_metrics() -> str:
    return table(("name", "type", "help"), [(code(name), *family[:2]) for name, family in FAMILIES.items()])


def prometheus_files() -> str:
    return table(("name", "type", "help"), [(code(name), *said) for name, said in FILE_FAMILIES.items()])


def prometheus_lanes() -> str:
    return table(("name", "type", "help"), [(code(name), *said) for name, said in LANE_FAMILIES.items()])


def prometheus_watch() -> str:
    return table(("name", "type", "help"), [(code(name), *family[:2]) for name, family in WATCH_FAMILIES.items()])


def prometheus_server() -> str:
    return table(("name", "type", "help"), [(code(name), *said) for name, said in SERVER_FAMILIES.items()])


def attempt_statuses() -> str:
    return table(("status", "meaning"), [(code(name), meaning) for name, meaning in ATTEMPT_STATUSES.items()])


def progress_lines() -> str:
    known = StageProgress("doctags", 1200, 230, 2, 2, 30.0)
    rows = [
        ("under way", format_line(known, 1.57)),
        ("the rate is not known yet", format_line(known._replace(succeeded=0, skipped=0, failed=0), 0.0)),
        ("the number of items is not known yet", format_line(known._replace(total=None), 92.4)),
        ("a signal was received", format_stopping("doctags", "received SIGINT", 5000)),
        ("the error budget is used up", format_stopping("doctags", "error budget of 1 exceeded at seq 7", 5000)),
    ]
    return table(("when", "line"), [(when, code(said)) for when, said in rows])
