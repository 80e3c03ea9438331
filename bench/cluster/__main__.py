"""`python -m bench.cluster`: simulate a cluster, print a report, draw it."""

import argparse
import sys
from pathlib import Path

import msgspec

from inorder.errors import OperatorError

from .options import ClusterOptions
from .plot import Mark, Panel, draw_chart
from .run import ClusterReport, run_cluster

_HELP = {
    "workers": "workers of the whole cluster",
    "nodes": "number of machines",
    "items": "items of the plan",
    "seed": "seed of all random values",
    "item_ms": "mean duration of an item",
    "item_sigma": "spread of the log-normal durations",
    "result_kb": "mean size of a result",
    "straggler_share": "share of items that take much longer",
    "straggler_factor": "duration of those, as a multiple of the mean",
    "slow_nodes": "nodes that are slower than the others",
    "slow_factor": "how many times slower",
    "node_losses": "nodes that are lost",
    "rack_nodes": "further nodes that are lost, all at once in the middle",
    "silent_nodes": "nodes that the network cuts off for two leases",
    "detect_ms": "time until a lost node is detected",
    "startup_ms": "time until a replacement node has joined",
    "latency_ms": "network latency, one way",
    "jitter_ms": "random addition to the latency, at most",
    "bandwidth_mb_s": "bandwidth of the driver's link",
    "batch_ms": "work per batch",
    "window": "seqs per window; 0: 64 per worker",
    "plan_ahead": "items read ahead; 0: one window",
    "buffered_mb": "byte budget of results not committed",
    "lease_ms": "silence after which a worker is abandoned",
    "infrastructure_budget": "losses tolerated between two window closings",
    "commit_us": "time of the commit lane per item",
    "commit_run_ms": "time of the commit lane per run",
    "sample_ms": "time between two samples; 0: about 200 samples",
}
_MARKS = {
    "lost": ("node lost", "#cf222e"),
    "silent": ("node silent", "#bf8700"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add one option per field of `ClusterOptions`."""
    for field in msgspec.structs.fields(ClusterOptions):
        parser.add_argument(
            f"--{field.name.replace('_', '-')}",
            type=field.type,
            default=field.default,
            metavar="N",
            help=f"{_HELP[field.name]} (default {field.default:g})",
        )
    parser.add_argument("--out", type=Path, default=None, metavar="FILE", help="draw the run as an SVG")
    parser.add_argument("--json", action="store_true", help="print the whole report, samples included")


def main(arguments: list[str] | None = None) -> int:
    """Run the simulation and print it.

    Returns the exit status: 0 it ran to its end, 1 the infrastructure budget stopped it, 2 a bad option, 6 a broken
    promise.
    """
    parser = argparse.ArgumentParser(prog="python -m bench.cluster", description=__doc__)
    add_arguments(parser)
    return simulate(parser.parse_args(arguments))


def simulate(arguments: argparse.Namespace) -> int:
    """Simulate the cluster of these arguments."""
    try:
        options = ClusterOptions(**{name: getattr(arguments, name) for name in _HELP})
        report = run_cluster(options)
        if arguments.out is not None:
            arguments.out.write_text(draw_report(report), encoding="utf-8")
    except OperatorError as error:
        return _print_error(str(error))
    except OSError as error:
        return _print_error(f"{arguments.out} cannot be written: {error.strerror}")
    print(msgspec.json.encode(report).decode() if arguments.json else "\n".join(format_report(report)))
    if report.broken_promise is not None:
        print(f"a promise was broken: {report.broken_promise}", file=sys.stderr)
        print(f"replay it with: {_format_command(options)}", file=sys.stderr)
        return 6
    return 0 if report.stop is None else 1


def _print_error(reason: str) -> int:
    print(f"error: {reason}", file=sys.stderr)
    return 2


def _format_command(options: ClusterOptions) -> str:
    """Format the command that repeats the run."""
    arguments = [
        f"--{field.name.replace('_', '-')} {getattr(options, field.name):g}"
        for field in msgspec.structs.fields(ClusterOptions)
        if field.name == "seed" or getattr(options, field.name) != field.default
    ]
    return f"python -m bench.cluster {' '.join(arguments)}"


def format_report(report: ClusterReport) -> list[str]:
    """Format the report as lines of text."""
    options, seen = report.options, report.statistics
    faults = ", ".join(f"{count} {name}" for name, count in sorted(report.faults.items())) or "none"
    ending = "every seq once, in order" if report.stop is None else f"stopped: {report.stop}"
    return [
        f"cluster        {options.workers:,} workers on {options.nodes:,} nodes, windows of {options.entries:,}",
        f"committed      {report.committed:,} of {options.items:,} items, {ending}",
        f"time           {report.duration_ms / 1000:,.1f} s; {report.fed_ms / 1000:,.1f} s until all were dispatched",
        f"utilisation    {report.utilisation:.1%}; {report.fed_utilisation:.1%} until then",
        f"rate           {report.items_per_s:,.0f} items/s",
        f"commit lag     {report.commit_lag_max:,} seqs at most",
        f"buffered       {report.used_bytes_max / 2**20:,.0f} MB at most, of a budget of {options.buffered_mb:,} MB",
        f"faults         {faults}",
        f"repeated       {seen.reclaims - seen.returns:,} lost with a worker, {seen.returns:,} returned unstarted,"
        f" {report.refused:,} late results refused",
        f"kernel         {seen.steps:,} steps, {seen.dispatches:,} batches, {seen.commit_runs:,} commits",
    ]


def draw_report(report: ClusterReport) -> str:
    """Draw the run as an SVG image."""
    options, samples = report.options, report.samples
    title = f"{options.workers:,} workers on {options.nodes:,} nodes, {options.items:,} items"
    subtitle = (
        f"simulated: items of {options.item_ms:g} ms on average, windows of {options.entries:,}, seed {options.seed}; "
        f"{report.fed_utilisation:.0%} of the workers computing while items were left to dispatch"
    )
    panels = [
        Panel("Workers computing", [sample.utilisation for sample in samples], "#0969da", 1.0, "{:.0%}".format),
        Panel("Workers alive", [sample.workers for sample in samples], "#1a7f37"),
        Panel("Commit lag: seqs started and not committed", [sample.commit_lag for sample in samples], "#8250df"),
        Panel("Buffered results, MB", [sample.buffered_bytes / 2**20 for sample in samples], "#bf3989"),
        Panel("Committed items per second", [sample.committed_per_s for sample in samples], "#953800"),
    ]
    marks = [Mark(at_ms / 1000, *_MARKS[kind]) for at_ms, kind in report.moments if kind in _MARKS]
    return draw_chart(title, subtitle, [sample.at_ms / 1000 for sample in samples], panels, marks)


if __name__ == "__main__":
    sys.exit(main())
