"""The first sentence of a report: is it fine, and what to do next."""

import datetime
import shlex
from collections.abc import Sequence

from .comparison import Comparison
from .model import RunReport, Verdict

_SAME_PERCENT = 3.0

_ORDER = ("running", "failed", "killed", "stopped", "unknown", "finished")
"""Which state of several runs the pipeline has: the first of these."""


def make_verdict(runs: Sequence[RunReport], data: str, comparison: Comparison | None = None) -> Verdict:
    """Judge the runs of a report, or the second of two that are compared."""
    option = f" --data {shlex.quote(data)}"
    if not runs:
        return Verdict(level="attention", state="unknown", sentence="No run was found in this DATA.")
    if comparison is not None:
        return _judge_comparison(runs[0], runs[1], comparison, option)
    run = min(runs, key=lambda each: (_ORDER.index(each.state), -each.last_ms))
    if run.state == "running":
        return _judge_running(run, option)
    if run.state != "finished":
        return _judge_unfinished(run, option)
    return _judge_finished(runs, option)


def _judge_running(run: RunReport, option: str) -> Verdict:
    counts = run.counts
    total = "an unknown number of" if counts.total is None else f"{counts.total:,}"
    sentence = f"Running: {run.stage} has {counts.done:,} of {total} items, {run.items_per_s:,.1f} per second"
    if run.eta_s is not None:
        sentence += f", about {format_duration(run.eta_s * 1000)} left"
    if counts.failed:
        sentence += f"; {counts.failed:,} failed so far"
    if run.waiting_for:
        sentence += f". It waits for {run.waiting_for}"
    return Verdict(
        level="running",
        state="running",
        sentence=f"{sentence}.",
        next_step="See what it waits for now:",
        command=f"inorder inspect --stage {run.stage}{option}",
    )


def _judge_unfinished(run: RunReport, option: str) -> Verdict:
    counts = run.counts
    of_total = "" if counts.total is None else f" of {counts.total:,}"
    done = f"{counts.done:,}{of_total} items are done and safe"
    sentence = f"The run of {run.stage} {run.state_text}. {done}"
    if counts.failed:
        sentence += f", {counts.failed:,} of them failed"
    steps = {
        "killed": "Run the same command again: it resumes where it stopped.",
        "stopped": "Run the same command again to resume.",
        "failed": "Mend the cause, then run the same command again: it resumes.",
        "unknown": "Look at its items.",
    }
    command = run.command if run.state != "unknown" else f"inorder inspect --stage {run.stage}{option}"
    return Verdict(
        level="bad" if run.state in ("killed", "failed") else "attention",
        state=run.state,
        sentence=f"{sentence}.",
        next_step=steps[run.state],
        command=command,
    )


def _judge_finished(runs: Sequence[RunReport], option: str) -> Verdict:
    failed = sum(run.counts.failed for run in runs)
    done = sum(run.counts.done for run in runs)
    skipped = sum(run.counts.skipped for run in runs)
    wall = format_duration(sum(run.active_ms for run in runs))
    stages = f"{len(runs)} stages" if len(runs) > 1 else runs[0].stage
    pages = sum(row.count for run in runs for row in run.warnings.rows)
    counts = f"{done - skipped - failed:,} done, {skipped:,} skipped, {failed:,} failed of {done:,} items"
    if failed:
        noun = "item" if failed == 1 else "items"
        return Verdict(
            level="attention",
            state="finished",
            sentence=f"Finished with {failed:,} failed {noun}: {stages} in {wall}; {counts}.",
            next_step="Mend the inputs, then run exactly the failed items again:",
            command=f"inorder retry{option}",
        )
    warned = f" {pages:,} warnings are worth a look." if pages else ""
    return Verdict(
        level="good",
        state="finished",
        sentence=f"All fine: {stages} finished in {wall}; {counts}.{warned}",
        next_step="Search it:" if any(run.stage == "index" for run in runs) else "See what it made:",
        command=f"inorder search{option} 'your question'"
        if any(run.stage == "index" for run in runs)
        else f"inorder inspect{option}",
    )


def _judge_comparison(before: RunReport, after: RunReport, comparison: Comparison, option: str) -> Verdict:
    """Say how the second run differs from the first."""
    change = 100 * (after.items_per_s / before.items_per_s - 1) if before.items_per_s else 0.0
    rate = "as fast as" if abs(change) < _SAME_PERCENT else f"{abs(change):.0f} % {_name_change(change)} than"
    facts = [
        f"{comparison.new_failures_total:,} new failures",
        f"{comparison.fixed_total:,} fixed",
        f"{comparison.slower_total:,} of {comparison.compared:,} items took longer",
    ]
    is_worse = bool(comparison.new_failures_total) or change < -_SAME_PERCENT
    return Verdict(
        level="attention" if is_worse else "good",
        state=after.state,
        sentence=f"Run {after.run_id[:8]} of {after.stage} was {rate} run {before.run_id[:8]}: {', '.join(facts)}.",
        next_step="See the failures of the latest run:" if comparison.new_failures_total else "",
        command=f"inorder failures --stage {after.stage}{option}" if comparison.new_failures_total else "",
    )


def _name_change(change: float) -> str:
    return "faster" if change > 0 else "slower"


def format_duration(duration_ms: float) -> str:
    """`350 ms`, `4.2 s`, `3 min 20 s`, `2 h 5 min`."""
    seconds = duration_ms / 1000
    if seconds < 1:
        return f"{duration_ms:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = int(seconds // 60)
    if minutes < 60:
        return f"{minutes} min {int(seconds % 60)} s"
    hours = minutes // 60
    return f"{hours} h {minutes % 60} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def format_time(time_ms: int) -> str:
    """A moment in UTC, to the second."""
    moment = datetime.datetime.fromtimestamp(time_ms / 1000, datetime.UTC)
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC")
