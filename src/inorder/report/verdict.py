"""The first sentence of a report: is it fine, and what to do next."""

import datetime
from collections.abc import Sequence

from inorder.pipeline.outcome import RunOutcome, describe_counts, describe_searchable

from .comparison import Comparison
from .model import RunReport, Verdict

_SAME_PERCENT = 3.0

_ORDER = ("running", "failed", "killed", "stopped", "unknown", "finished")
"""Which state of several runs the pipeline has: the first of these."""


def make_verdict(
    runs: Sequence[RunReport], option: str, comparison: Comparison | None = None, problem: str = ""
) -> Verdict:
    """Judge the runs of a report, or the second of two that are compared. `problem`: what is wrong with the library."""
    verdict = _judge_runs(runs, option, comparison)
    if not problem:
        return verdict
    return Verdict(
        level="bad",
        state=verdict.state,
        sentence=f"{problem}.",
        details=[verdict.sentence, *verdict.details],
        next_step="See everything that is damaged:",
        command=f"inorder verify{option}",
    )


def _judge_runs(runs: Sequence[RunReport], option: str, comparison: Comparison | None) -> Verdict:
    if not runs:
        return Verdict(level="attention", state="unknown", sentence="No run was found in this DATA.")
    if comparison is not None:
        return _judge_comparison(runs[0], runs[1], comparison, option)
    run = min(runs, key=lambda each: (_ORDER.index(each.state), -each.last_ms))
    if run.state == "running":
        return _judge_running(run, option)
    if run.state != "finished":
        return _judge_unfinished(run, option)
    files = next((each.files for each in runs if each.files is not None), None)
    return _judge_items(runs, option) if files is None else _judge_files(runs, files, option)


def _judge_running(run: RunReport, option: str) -> Verdict:
    counts = run.counts
    total = "an unknown number of" if counts.total is None else f"{counts.total:,}"
    done = f"{counts.done:,} of {total} {_name_items(run)} are done, {run.items_per_s:,.1f} per second"
    if run.eta_s is not None:
        done += f", about {format_duration(run.eta_s * 1000)} left"
    if counts.failed:
        done += f"; {counts.failed:,} failed so far"
    details = [f"It waits for {run.waiting_for}."] if run.waiting_for else []
    return Verdict(
        level="running",
        state="running",
        sentence=f"{'The run' if run.is_pass else f'The run of {run.stage}'} goes on: {done}.",
        details=details,
        next_step="See what it waits for now:",
        command=f"inorder inspect{'' if run.is_pass else f' --stage {run.stage}'}{option}",
    )


def _judge_unfinished(run: RunReport, option: str) -> Verdict:
    counts = run.counts
    of_total = "" if counts.total is None else f" of {counts.total:,}"
    done = f"{counts.done:,}{of_total} {_name_items(run)} are done and safe"
    if counts.failed:
        done += f", {counts.failed:,} of them failed"
    steps = {
        "killed": "Run the same command again: it resumes where it stopped.",
        "stopped": "Run the same command again to resume.",
        "failed": "Mend the cause, then run the same command again: it resumes.",
        "unknown": "Look at its items.",
    }
    stage = "" if run.is_pass else f" --stage {run.stage}"
    command = run.command if run.state != "unknown" else f"inorder inspect{stage}{option}"
    return Verdict(
        level="bad" if run.state in ("killed", "failed") else "attention",
        state=run.state,
        sentence=f"The run{'' if run.is_pass else f' of {run.stage}'} {run.state_text}. {done[0].upper()}{done[1:]}.",
        next_step=steps[run.state],
        command=command,
    )


def _name_items(run: RunReport) -> str:
    return "files" if run.is_pass else "items"


def _judge_files(runs: Sequence[RunReport], files: RunOutcome, option: str) -> Verdict:
    """Say what the run of the pipeline did, in the words of its summary."""
    counts, stages = files.counts, [run for run in runs if not run.is_pass]
    is_idle = not (files.steps or counts.new or counts.changed or counts.removed)
    wall = format_duration(sum(run.active_ms for run in runs if run.is_pass))
    details = []
    if files.documents or files.source_files:
        details.append(f"Searchable: {describe_searchable(files.documents, files.source_files)}.")
    details.append("Nothing had changed." if is_idle else f"Finished in {wall}.")
    details += [f"{run.stage}: {_count_items([run])}." for run in stages]
    failed = counts.failed + sum(run.counts.failed for run in stages)
    can_search = bool(files.documents or files.source_files)
    return Verdict(
        level="attention" if failed else "good",
        state="finished",
        sentence=f"{describe_counts(counts)}.",
        details=details,
        next_step="Search it:" if can_search else "See what DATA holds:",
        command=f"inorder search{option} 'your question'" if can_search else f"inorder inspect{option}",
    )


def _judge_items(runs: Sequence[RunReport], option: str) -> Verdict:
    """Say how the stages of a user have ended."""
    failed = sum(run.counts.failed for run in runs)
    wall = format_duration(sum(run.active_ms for run in runs))
    names = " and ".join(run.stage for run in runs) if len(runs) <= 3 else f"{len(runs)} runs"
    warnings = sum(row.count for run in runs for row in run.warnings.rows)
    sentence = f"Finished with {_count(failed, 'failed item')}" if failed else "All fine"
    return Verdict(
        level="attention" if failed else "good",
        state="finished",
        sentence=f"{sentence}: {names} in {wall}; {_count_items(runs)}.",
        details=[f"{_count(warnings, 'warning')} worth a look."] if warnings else [],
        next_step="Mend the inputs, then run exactly what failed again:" if failed else "See what it made:",
        command=f"inorder {'retry' if failed else 'inspect'}{option}",
    )


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _count_items(runs: Sequence[RunReport]) -> str:
    """The items of stages of users."""
    counts = [run.counts for run in runs]
    done, skipped = sum(each.done for each in counts), sum(each.skipped for each in counts)
    failed = sum(each.failed for each in counts)
    return f"{done - skipped - failed:,} done, {skipped:,} skipped, {failed:,} failed of {done:,} items"


def _judge_comparison(before: RunReport, after: RunReport, comparison: Comparison, option: str) -> Verdict:
    """Say how the second run differs from the first."""
    change = 100 * (after.items_per_s / before.items_per_s - 1) if before.items_per_s else 0.0
    rate = "as fast as" if abs(change) < _SAME_PERCENT else f"{abs(change):.0f} % {_name_change(change)} than"
    facts = [
        _count(comparison.new_failures_total, "new failure"),
        f"{comparison.fixed_total:,} fixed",
        f"{comparison.slower_total:,} of {comparison.compared:,} {'steps of files' if after.is_pass else 'items'} took "
        "longer",
    ]
    of_stage = "" if after.is_pass else f" of {after.stage}"
    is_worse = bool(comparison.new_failures_total) or change < -_SAME_PERCENT
    return Verdict(
        level="attention" if is_worse else "good",
        state=after.state,
        sentence=f"Run {after.run_id[:8]}{of_stage} was {rate} run {before.run_id[:8]}: {', '.join(facts)}.",
        next_step="See the failures of the latest run:" if comparison.new_failures_total else "",
        command=f"inorder failures{'' if after.is_pass else f' --stage {after.stage}'}{option}"
        if comparison.new_failures_total
        else "",
    )


def _name_change(change: float) -> str:
    return "faster" if change > 0 else "slower"


def format_duration(duration_ms: float) -> str:
    """`0.35 ms`, `350 ms`, `4.2 s`, `3 min 20 s`, `2 h 5 min`."""
    seconds = duration_ms / 1000
    if seconds < 1:
        return f"{duration_ms:.0f} ms" if duration_ms >= 10 else f"{duration_ms:.2g} ms" if duration_ms else "0"
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
