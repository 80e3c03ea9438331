"""The same metrics through OpenTelemetry, if it is installed and its environment variables name an exporter.

Nothing is imported unless `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_METRICS_EXPORTER` or `OTEL_TRACES_EXPORTER` is set. The
providers of the calling program are used if it has set any; otherwise OpenTelemetry creates them from its variables.
"""

import contextlib
import importlib
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from inorder.core.transitions import State
from inorder.engines.attempt import escape_surrogates
from inorder.sinks.base import Entry
from inorder.stage.manifest.entries import get_result
from inorder.stage.manifest.rows import STATUSES
from inorder.stage.options import StageOptions

from .metrics import METRICS

VARIABLES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_METRICS_EXPORTER", "OTEL_TRACES_EXPORTER")
_FAIL = int(State.TERMINAL_FAIL)
_SUCCESS = int(State.TERMINAL_SUCCESS)
_SKIP = int(State.TERMINAL_SKIP)
_GAUGES = (
    "active_workers",
    "in_flight",
    "queue_depth",
    "pending_results",
    "buffered_bytes",
    "commit_lag",
    "terminal_lag",
    "resident_bytes",
    "gpu_memory_bytes",
)
INSTRUMENTS = {
    "inorder.items": ("counter", "items with an outcome, by `status`"),
    **{f"inorder.{name}": METRICS[name] for name in ("input_bytes", "output_bytes", "item_exec_ms", "item_queue_ms")},
    "inorder.measures": ("counter", "numbers that workers reported with `ctx.measure`, by `name` and `group`"),
    **{f"inorder.{name}": ("up-down counter", METRICS[name][1]) for name in _GAUGES},
}
"""Every instrument, with its kind and meaning."""


def is_otel_wanted() -> bool:
    """Whether a variable asks for an exporter."""
    return any(os.environ.get(name) for name in VARIABLES)


def start_otel(stage: str, options: StageOptions) -> "OtelExporter | None":
    """Return an exporter; None: no variable asks for one, or OpenTelemetry is not installed."""
    if not is_otel_wanted():
        return None
    try:
        from opentelemetry import metrics, trace
    except ImportError:
        return None
    if type(trace.get_tracer_provider()).__name__ == "ProxyTracerProvider":
        _configure()
    return OtelExporter(metrics.get_meter("inorder"), trace.get_tracer("inorder"), stage, options)


def _configure() -> None:
    """Create providers and exporters from the variables, as `opentelemetry-instrument` does."""
    with contextlib.suppress(Exception):
        configuration: Any = importlib.import_module("opentelemetry.sdk._configuration")
        configuration._OTelSDKConfigurator().configure()


def _find_unit(name: str) -> str:
    return "ms" if name.endswith("_ms") else "By" if name.endswith("_bytes") else "1"


def _to_attribute(value: Any) -> Any:
    return value if isinstance(value, str | bool | int | float) else str(value)


class OtelExporter:
    """Counters, histograms, and one span per item."""

    def __init__(self, meter: Any, tracer: Any, stage: str, options: StageOptions) -> None:
        self._tracer = tracer
        self._labels = {"stage": stage, "policy": options.policy}
        create = {
            "counter": meter.create_counter,
            "histogram": meter.create_histogram,
            "up-down counter": meter.create_up_down_counter,
        }
        instruments = {
            name: create[kind](name, unit=_find_unit(name), description=meaning)
            for name, (kind, meaning) in INSTRUMENTS.items()
        }
        self._items, self._exec_ms = instruments["inorder.items"], instruments["inorder.item_exec_ms"]
        self._queue_ms, self._measures = instruments["inorder.item_queue_ms"], instruments["inorder.measures"]
        self._input_bytes, self._output_bytes = instruments["inorder.input_bytes"], instruments["inorder.output_bytes"]
        self._gauges = {name: instruments[f"inorder.{name}"] for name in _GAUGES}
        self._latest = dict.fromkeys(self._gauges, 0)

    def record_committed(self, entries: Sequence[Entry], fields: Mapping[int, Mapping[str, Any]]) -> None:
        """Record committed items, in order. `fields` are further attributes of their spans, by seq."""
        for entry in entries:
            status = STATUSES[entry.outcome]
            labels = {**self._labels, "status": status}
            self._items.add(1, labels)
            if entry.outcome != _SKIP:
                self._exec_ms.record(entry.exec_ms, labels)
            measures = self._record_measures(entry) if entry.outcome == _SUCCESS else {}
            began_ns = int(entry.began_ms * 1e6) or time.time_ns()
            span = self._tracer.start_span(
                f"{self._labels['stage']} item",
                start_time=began_ns,
                attributes={
                    **{name: _to_attribute(value) for name, value in fields.get(entry.seq, {}).items()},
                    **measures,
                    **labels,
                    "item_id": escape_surrogates(entry.item.item_id),
                    "seq": entry.seq,
                    "attempts": entry.attempts,
                },
            )
            if entry.outcome == _FAIL and entry.failure is not None:
                span.set_attribute("error.category", entry.failure.category.value)
                span.set_attribute("error.message", entry.failure.message)
                if entry.failure.step:
                    span.set_attribute("error.step", entry.failure.step)
            span.end(end_time=began_ns + int(entry.exec_ms * 1e6))

    def _record_measures(self, entry: Entry) -> dict[str, float | str]:
        """Record what the worker of an item reported. Returns it."""
        self._output_bytes.add(sum(output.size for output in entry.outputs), self._labels)
        result = get_result(entry)
        if result is None:
            return {}
        self._input_bytes.add(result.input_bytes, self._labels)
        group = entry.item.batch_key
        for name, value in result.measures.items():
            if not isinstance(value, str):
                self._measures.add(value, {**self._labels, "name": name, "group": group})
        return result.measures

    def record_queued(self, queued_ms: float) -> None:
        """Record the queue time of an item."""
        self._queue_ms.record(queued_ms, self._labels)

    def record_gauges(self, gauges: Mapping[str, int | None]) -> None:
        """Set the gauges to these values; one that is missing or None is 0."""
        for name, counter in self._gauges.items():
            value = gauges.get(name) or 0
            counter.add(value - self._latest[name], self._labels)
            self._latest[name] = value

    def close(self) -> None:
        """Set the gauges to 0, and flush the providers that can be flushed."""
        self.record_gauges({})
        with contextlib.suppress(Exception):
            from opentelemetry import metrics, trace

            for provider in (metrics.get_meter_provider(), trace.get_tracer_provider()):
                flush = getattr(provider, "force_flush", None)
                if flush is not None:
                    flush(timeout_millis=5000)
