"""The same numbers through OpenTelemetry, where it is installed and its own variables say where they go.

Nothing here is imported unless `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_METRICS_EXPORTER` or `OTEL_TRACES_EXPORTER` is set.
The program that runs a stage may have set up providers of its own; those are used then. Otherwise OpenTelemetry's own
configuration makes them from its variables.
"""

import contextlib
import importlib
import os
import time
from collections.abc import Sequence
from typing import Any

from inorder.core.transitions import State
from inorder.sinks.base import Entry
from inorder.stage.contracts import StageOptions
from inorder.stage.manifest.rows import STATUSES, to_printable

from .metrics import METRICS

VARIABLES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_METRICS_EXPORTER", "OTEL_TRACES_EXPORTER")
_FAIL = int(State.TERMINAL_FAIL)
_SKIP = int(State.TERMINAL_SKIP)
_GAUGES = ("active_workers", "in_flight", "queue_depth", "pending_results", "buffered_bytes", "commit_lag")
INSTRUMENTS = {
    "inorder.items": ("counter", "items with an outcome, by `status`"),
    **{f"inorder.{name}": METRICS[name] for name in ("item_exec_ms", "item_queue_ms")},
    **{f"inorder.{name}": ("up-down counter", METRICS[name][1]) for name in _GAUGES},
}
"""What is measured there, with its kind and meaning."""


def open_telemetry(stage: str, options: StageOptions) -> "OpenTelemetry | None":
    """The bridge, where it is wanted and there is something on the other side."""
    if not any(os.environ.get(name) for name in VARIABLES):
        return None
    try:
        from opentelemetry import metrics, trace
    except ImportError:
        return None
    if type(trace.get_tracer_provider()).__name__ == "ProxyTracerProvider":
        _configure()
    return OpenTelemetry(metrics.get_meter("inorder"), trace.get_tracer("inorder"), stage, options)


def _configure() -> None:
    """What `opentelemetry-instrument` does before it starts a program: providers and exporters from the variables."""
    with contextlib.suppress(Exception):
        configuration: Any = importlib.import_module("opentelemetry.sdk._configuration")
        configuration._OTelSDKConfigurator().configure()


class OpenTelemetry:
    """Counters, histograms, and one span an item."""

    def __init__(self, meter: Any, tracer: Any, stage: str, options: StageOptions) -> None:
        self._tracer = tracer
        self._labels = {"stage": stage, "policy": options.policy}
        make = {
            "counter": meter.create_counter,
            "histogram": meter.create_histogram,
            "up-down counter": meter.create_up_down_counter,
        }
        made = {
            name: make[kind](name, unit="ms" if name.endswith("_ms") else "1", description=meaning)
            for name, (kind, meaning) in INSTRUMENTS.items()
        }
        self._items, self._exec_ms = made["inorder.items"], made["inorder.item_exec_ms"]
        self._queue_ms = made["inorder.item_queue_ms"]
        self._gauges = {name: made[f"inorder.{name}"] for name in _GAUGES}
        self._latest = dict.fromkeys(self._gauges, 0)

    def committed(self, entries: Sequence[Entry]) -> None:
        """Items with an outcome, in order."""
        for entry in entries:
            status = STATUSES[entry.outcome]
            labels = {**self._labels, "status": status}
            self._items.add(1, labels)
            if entry.outcome != _SKIP:
                self._exec_ms.record(entry.exec_ms, labels)
            ended_ns = time.time_ns()
            span = self._tracer.start_span(
                f"{self._labels['stage']} item",
                start_time=ended_ns - int(entry.exec_ms * 1e6),
                attributes={
                    **labels,
                    "item_id": to_printable(entry.item.item.item_id),
                    "seq": entry.seq,
                    "attempts": entry.attempts,
                },
            )
            if entry.outcome == _FAIL and entry.failure is not None:
                span.set_attribute("error.category", entry.failure.category.value)
                span.set_attribute("error.message", entry.failure.message)
            span.end(end_time=ended_ns)

    def queued(self, waited_ms: float) -> None:
        """An item was given to its worker."""
        self._queue_ms.record(waited_ms, self._labels)

    def gauge(self, gauges: dict[str, int]) -> None:
        """How things stand."""
        for name, counter in self._gauges.items():
            value = gauges.get(name, 0)
            counter.add(value - self._latest[name], self._labels)
            self._latest[name] = value

    def close(self) -> None:
        """Nothing is under way any more. Send what has gathered, if the provider can be asked to."""
        self.gauge({})
        with contextlib.suppress(Exception):
            from opentelemetry import metrics, trace

            for provider in (metrics.get_meter_provider(), trace.get_tracer_provider()):
                flush = getattr(provider, "force_flush", None)
                if flush is not None:
                    flush(timeout_millis=5000)
