"""The watch of DATA on a page: what it does, and what it did last."""

from inorder.report.model import PipelineReport
from inorder.report.verdict import format_duration, format_time
from inorder.watch.status import STATES, WatchStatus

from .text import escape_text, format_plural, isolate

_SIGNS = {"watching": "◉", "running": "▶", "waiting": "…", "retrying": "↻", "ended": "■", "killed": "✕"}


def make_watch(report: PipelineReport) -> str:
    """The section of the watch; empty: there was none."""
    watch = report.watch
    if watch is None:
        return ""
    sources = ", ".join(map(isolate, watch.sources))
    items = "".join(f"<li>{fact}</li>" for fact in _list_facts(watch))
    return (
        f'<div class="card watch"><h2>Watch '
        f'<span class="badge state-{watch.state}"><span aria-hidden="true">{_SIGNS[watch.state]}</span> {watch.state}'
        f"</span></h2><p>{sources}: {escape_text(STATES[watch.state])}.</p><ul>{items}</ul></div>"
    )


def _list_facts(watch: WatchStatus) -> list[str]:
    """What is known, as markup."""
    facts = [f"since {format_time(watch.since_ms)}, process {watch.pid} on {escape_text(watch.host)}"]
    if watch.ended_ms is not None:
        facts.append(f"ended {format_time(watch.ended_ms)}")
    if watch.last_change_ms is not None:
        facts.append(f"last change {format_time(watch.last_change_ms)}")
    if watch.pending_changes:
        facts.append(f"{format_plural(watch.pending_changes, 'change')} pending")
    if (run := watch.last_run) is not None:
        ended = f"{format_time(run.ended_ms)}, in {format_duration(run.duration_ms)}, exit code {run.exit_code}"
        facts.append(f"last run: number {run.number}, ended {ended}")
    if watch.is_polling:
        facts.append("a source that sends no events is listed")
    if watch.is_alive and watch.next_poll_ms is not None:
        facts.append(f"next listing {format_time(watch.next_poll_ms)}")
    if watch.is_alive and watch.next_retry_ms is not None:
        facts.append(f"next try {format_time(watch.next_retry_ms)}")
    if watch.last_error and watch.last_error_ms is not None:
        facts.append(f"last error, {format_time(watch.last_error_ms)}: {isolate(watch.last_error)}")
    return facts
