"""Puts a page together: policy, style, markup, data, script."""

import base64
import hashlib
from importlib.resources import files

import msgspec

from inorder.host.spelling import encode_spelled
from inorder.report.model import PipelineReport
from inorder.report.verdict import format_time

from .compare import make_comparison
from .contents import make_contents, make_run_changes
from .engine import make_engine_room
from .sections import make_activity, make_failed, make_navigation, make_not_read, make_stage, make_verdict_box
from .text import escape_text, isolate
from .watch import make_watch

_ENCODER = msgspec.json.Encoder()
_TITLES = {
    "watch": "Watch",
    "comparison": "Comparison",
    "failed": "Failed",
    "not-read": "Not read",
    "dataset": "Dataset",
}
"""The sections, in their order, by their ids."""
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def render_html(report: PipelineReport) -> str:
    """Return the page of a report: one HTML document that needs no other file and makes no request."""
    style, script = read_asset("style.css"), read_asset("script.js")
    generated = format_time(report.generated_ms)
    policy = (
        f"default-src 'none'; style-src 'sha256-{_digest(style)}'; script-src 'sha256-{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark">'
        f"<title>{escape_text(report.verdict.state)}: inorder report of {escape_text(report.data)}</title>"
        f"<style>{style}</style></head><body>\n"
        '<a class="skip" href="#main">Skip to content</a>'
        '<header><div class="brand"><strong>inorder</strong> report</div>'
        f'<div class="where">{isolate(report.data)}</div><div class="tools">'
        f'<time>{generated}</time><button type="button" id="theme" hidden>Theme: system</button></div></header>'
        f'<main id="main">{render_main(report)}</main>'
        f"<footer>Made by inorder {escape_text(report.inorder_version)} at {generated}. Times are UTC.</footer>"
        f'\n<script type="application/json" id="report">{encode_data(report)}</script>'
        f"<script>{script}</script></body></html>\n"
    )


def render_main(report: PipelineReport) -> str:
    """Return the markup of everything that changes with the report, for a page that shows it live."""
    first = next((run for run in report.runs if run.is_pass), None)
    found = {"watch": make_watch(report), "comparison": make_comparison(report)}
    if report.comparison is None and first is not None:
        found |= {"failed": make_failed(first, report.option), "not-read": make_not_read(first)}
    if report.comparison is None:
        found["dataset"] = make_contents(report.dataset) + ("" if first is None else make_run_changes(first))
    parts = {
        name: f'<section id="{name}" aria-label="{_TITLES[name]}">{body}</section>'
        for name, body in found.items()
        if body
    }
    stages = [] if report.comparison is not None else [run for run in report.runs if not run.is_pass]
    links = {name: _TITLES[name] for name in parts} | {f"run-{run.run_id}": run.stage for run in stages}
    engine = make_engine_room(report.runs)
    links |= {"engine": "Engine room"} if engine else {}
    activity = "".join(make_activity(run) for run in report.runs if run.is_pass)
    made = "".join(make_stage(run, report.option) for run in stages)
    return f"{make_verdict_box(report)}{make_navigation(links)}{activity}{''.join(parts.values())}{made}{engine}"


def encode_data(report: PipelineReport) -> str:
    """The data of a report as JSON that can stand inside a script element."""
    text = encode_spelled(_ENCODER, report).decode()
    for character, replacement in _UNSAFE.items():
        text = text.replace(character, replacement)
    return text


def read_asset(name: str) -> str:
    """A file of the page: its style or its script."""
    return files("inorder.report.page").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
