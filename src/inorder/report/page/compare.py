"""The section that compares two runs of one stage."""

from inorder.report.comparison import Delta
from inorder.report.model import PipelineReport
from inorder.report.verdict import format_duration

from .tables import make_table
from .text import escape_text, format_bytes, format_count, isolate

_IS_WORSE = {
    "failed": 1,
    "retries": 1,
    "lost workers": 1,
    "items per second": -1,
    "files per second": -1,
    "active time": 1,
}
_NOTABLE = 0.05


def make_comparison(report: PipelineReport) -> str:
    """Two runs of one stage beside each other; empty: there is no comparison."""
    found = report.comparison
    if found is None:
        return ""
    rows = [
        [
            escape_text(delta.name),
            _format_value(delta.before, delta.unit),
            _format_value(delta.after, delta.unit),
            _describe_change(delta),
        ]
        for delta in found.deltas
    ]
    heads = [("Value", ""), (f"Run {found.before[:8]}", "number"), (f"Run {found.after[:8]}", "number")]
    table = make_table("Two runs", [*heads, ("Change", "number")], rows, is_paged=False)
    return (
        f"<h2>Comparison of {'two runs' if report.runs[0].is_pass else escape_text(found.stage)}</h2>"
        f'<div class="card">{table}</div>{_make_lists(report)}'
    )


def _make_lists(report: PipelineReport) -> str:
    found = report.comparison
    if found is None:
        return ""
    slower = [
        [
            isolate(item.item_id),
            format_duration(item.before_s * 1000),
            format_duration(item.after_s * 1000),
            f"{item.after_s / item.before_s:.1f}" if item.before_s > 0 else "",
        ]
        for item in found.slower
    ]
    failed = [[isolate(item.item_id), escape_text(item.category), isolate(item.message)] for item in found.new_failures]
    fixed = [[isolate(item_id)] for item_id in found.fixed]
    what = "steps of files ran" if report.runs[0].is_pass else "items were processed"
    parts = [f'<p class="note">{format_count(found.compared)} {what} in both runs.</p>']
    if slower:
        heads = [("Item", "name"), ("Before", "number"), ("After", "number"), ("Factor", "number")]
        parts.append(make_table("Slower items", heads, slower, found.slower_total))
    if failed:
        heads = [("Item", "name"), ("Category", ""), ("Error", "wide")]
        parts.append(make_table("New failures", heads, failed, found.new_failures_total))
    if fixed:
        parts.append(make_table("Failed before, succeeded now", [("Item", "name")], fixed, found.fixed_total))
    return f'<div class="card">{"".join(parts)}</div>'


def _describe_change(delta: Delta) -> str:
    if delta.before is None or delta.after is None or delta.before == delta.after:
        return ""
    if not delta.before:
        return "new" if delta.unit == "" else ""
    share = delta.after / delta.before - 1
    sign = _IS_WORSE.get(delta.name, 1 if delta.unit == "ms" else 0)
    css = "bad" if sign * share > _NOTABLE else "fine" if sign * share < -_NOTABLE else ""
    return f'<span class="{css}">{100 * share:+.0f} %</span>'


def _format_value(value: float | None, unit: str) -> str:
    if value is None:
        return "?"
    if unit == "ms":
        return format_duration(value)
    return format_bytes(value) if unit == "bytes" else f"{value:,.6g} {unit}".strip()
