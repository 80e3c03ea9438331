"""The same numbers through OpenTelemetry, where its variables ask for it."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import inorder
from inorder.stage.monitor import otel
from inorder.stage.monitor.otel import INSTRUMENTS, VARIABLES
from tests.stage.jobs import Place
from tests.tidy.test_import import modules_loaded_by

LABELS = {"stage": "shout", "policy": "io"}


class Collected:
    """What has come through."""

    def __init__(self) -> None:
        self.spans = InMemorySpanExporter()
        self.reader = InMemoryMetricReader()

    def metrics(self) -> dict[str, Any]:
        found = self.reader.get_metrics_data()
        return {
            metric.name: metric
            for resource in (found.resource_metrics if found else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def points(self, name: str) -> dict[str, Any]:
        """The points of a metric by status."""
        return {point.attributes.get("status", ""): point for point in self.metrics()[name].data.data_points}


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collected]:
    """Providers that a program may have set up before it runs a stage."""
    found = Collected()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(found.spans))
    meters = MeterProvider([found.reader])
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: tracers)
    monkeypatch.setattr(trace, "get_tracer", tracers.get_tracer)
    monkeypatch.setattr(metrics, "get_meter_provider", lambda: meters)
    monkeypatch.setattr(metrics, "get_meter", meters.get_meter)
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    yield found
    meters.shutdown()
    tracers.shutdown()


@pytest.mark.req("RUN-10")
def test_every_item_is_counted_and_timed(place: Place, collected: Collected) -> None:
    place.run([place.item("a"), place.item("b", "skip"), place.item("c", "fail"), place.item("d")])
    assert collected.metrics().keys() == INSTRUMENTS.keys() - {"inorder.measures"}
    items = collected.points("inorder.items")
    assert {status: point.value for status, point in items.items()} == {"success": 2, "skip": 1, "failure": 1}
    assert all(LABELS.items() <= point.attributes.items() for point in items.values())
    times = collected.points("inorder.item_exec_ms")
    assert {status: point.count for status, point in times.items()} == {"success": 2, "failure": 1}
    assert collected.points("inorder.item_queue_ms")[""].count == 4


@pytest.mark.req("RUN-10")
def test_every_item_has_a_span(place: Place, collected: Collected) -> None:
    place.run([place.item("a"), place.item("b", "flaky"), place.item("c", "fail")], retries=1)
    spans = {span.attributes["item_id"]: span for span in collected.spans.get_finished_spans()}
    assert list(spans) == ["a", "b", "c"]
    for name, (seq, attempts, status) in {
        "a": (0, 1, "success"),
        "b": (1, 2, "success"),
        "c": (2, 1, "failure"),
    }.items():
        span = spans[name]
        assert span.name == "shout item"
        assert span.attributes.items() >= (LABELS | {"seq": seq, "attempts": attempts, "status": status}).items()
        took_s = (span.end_time - span.start_time) / 1e9
        assert took_s == pytest.approx(place.row(name)["duration_s"], abs=1e-5)
    assert spans["c"].attributes["error.category"] == "runtime"
    assert spans["c"].attributes["error.message"] == "ValueError: this one is bad"
    assert "error.category" not in spans["a"].attributes


def answer(item: inorder.WorkItem, ctx: inorder.StageContext) -> None:
    """Item `a` ends after `c` has begun, and notes that moment; `b` is long done then."""
    pipe = Path(item.meta["pipe"])
    if item.item_id == "a":
        pipe.read_text()
        pipe.with_name("later").write_text(str(time.time_ns()))
    if item.item_id == "c":
        pipe.write_text("begun")
    ctx.output("loud").write_text("DONE")


@pytest.mark.process
@pytest.mark.parametrize("policy", ["io", "cpu"])
@pytest.mark.req("RUN-10")
def test_a_span_has_the_start_and_end_of_the_execution_and_not_of_the_commit(
    place: Place, collected: Collected, policy: str
) -> None:
    os.mkfifo(place.folder / "pipe")
    before_ns = time.time_ns()
    place.run([place.item(name, meta={"pipe": str(place.folder / "pipe")}) for name in "abc"], answer, policy=policy)
    spans = {span.attributes["item_id"]: span for span in collected.spans.get_finished_spans()}
    later_ns = int((place.folder / "later").read_text())
    assert before_ns - 10**6 <= spans["b"].start_time <= spans["b"].end_time <= later_ns
    assert spans["a"].start_time < later_ns < spans["a"].end_time


@pytest.mark.process
@pytest.mark.parametrize("deed", ["hang", "kill"])
@pytest.mark.req("RUN-10")
def test_an_item_whose_process_is_gone_has_a_span_too(place: Place, collected: Collected, deed: str) -> None:
    before_ns = time.time_ns()
    place.run([place.item("a", deed)], policy="cpu", workers=1, timeout_s=0.05 if deed == "hang" else 0)
    [span] = collected.spans.get_finished_spans()
    assert before_ns - 10**6 <= span.start_time < span.end_time <= time.time_ns()
    assert place.row("a")["duration_s"] > (0.05 if deed == "hang" else 0)


def embed(item: inorder.WorkItem, ctx: inorder.StageContext) -> None:
    ctx.output("loud").write_text("VECTORS")
    ctx.measure(provider="onnx", model="small", device="cpu", batch_size=32, vectors=5)


@pytest.mark.req("RUN-10")
def test_what_a_worker_measures_is_on_the_span_of_its_item_and_in_a_counter(place: Place, collected: Collected) -> None:
    place.run([place.item("a", batch_key="dense"), place.item("b", batch_key="dense")], embed)
    for span in collected.spans.get_finished_spans():
        wanted = {"provider": "onnx", "model": "small", "device": "cpu", "batch_size": 32, "vectors": 5}
        assert span.attributes.items() >= wanted.items()
    points = collected.metrics()["inorder.measures"].data.data_points
    sums = {(point.attributes["name"], point.attributes["group"]): point.value for point in points}
    assert sums[("vectors", "dense")] == 10
    inputs = sum(path.stat().st_size for path in place.sources.iterdir())
    assert collected.points("inorder.input_bytes")[""].value == inputs
    assert collected.points("inorder.output_bytes")[""].value == sum(map(len, place.published().values()))


@pytest.mark.slow
@pytest.mark.req("RUN-10")
def test_gauges_are_at_rest_after_a_run_and_after_another(
    place: Place, collected: Collected, monkeypatch: pytest.MonkeyPatch
) -> None:
    from inorder.stage.monitor import monitor

    monkeypatch.setattr(monitor, "_GAUGES_S", 0.0)
    seen: list[int] = []
    record = otel.OtelExporter.record_gauges

    def recording(self: Any, gauges: dict[str, int]) -> None:
        seen.append(gauges.get("in_flight", 0))
        record(self, gauges)

    monkeypatch.setattr(otel.OtelExporter, "record_gauges", recording)
    for _ in range(2):
        place.run(place.items(10), force=True)
    assert max(seen) > 0
    for name in ("active_workers", "in_flight", "queue_depth", "pending_results", "buffered_bytes", "commit_lag"):
        assert collected.points(f"inorder.{name}")[""].value == 0


def test_gauges_are_at_rest_after_a_run_that_broke_off(collected: Collected) -> None:
    exporter = otel.start_otel("shout", inorder.StageOptions())
    assert exporter is not None
    exporter.record_gauges({"in_flight": 7})
    assert collected.points("inorder.in_flight")[""].value == 7
    exporter.close()
    assert collected.points("inorder.in_flight")[""].value == 0


def test_nothing_of_it_is_touched_unless_a_variable_asks_for_it(
    place: Place, collected: Collected, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    place.run([place.item("a")])
    assert collected.metrics() == {}
    assert collected.spans.get_finished_spans() == ()


@pytest.mark.process
def test_a_run_without_it_does_not_import_it() -> None:
    loaded = modules_loaded_by("import inorder.stage.run")
    assert not [name for name in loaded if name.startswith("opentelemetry")]


def test_where_it_is_not_installed_a_run_goes_on_without(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "otlp")
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    assert place.run([place.item("a")]).succeeded == 1


def test_a_program_without_providers_gets_them_from_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: trace.ProxyTracerProvider())
    monkeypatch.setattr(otel, "_configure", lambda: called.append("configured"))
    assert otel.start_otel("shout", inorder.StageOptions()) is not None
    assert called == ["configured"]


@pytest.mark.req("RUN-14")
def test_fields_of_after_item_are_attributes_of_the_span(place: Place, collected: Collected) -> None:
    hooks = inorder.StageHooks(after_item=lambda item, result, ctx: {"provider": "onnx", "where": place.folder})
    place.run([place.item("a")], hooks=hooks)
    [span] = collected.spans.get_finished_spans()
    assert (span.attributes["provider"], span.attributes["where"]) == ("onnx", str(place.folder))
    assert span.attributes["item_id"] == "a"
