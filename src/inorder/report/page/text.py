"""Text for a page: escaped, and numbers as people read them.

Names of items come from files and programs of any kind. Nothing in them may be read as markup, and characters that
would change the direction or the lines of the page are shown as escapes.
"""

import html
import re

_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_BREAKS = re.compile("[\n\t]")


def escape_text(text: str, *, keep_lines: bool = False) -> str:
    """Escape a text for HTML. Control characters, bidirectional controls and lone surrogates become visible."""
    shown = _HIDDEN.sub(_make_visible, text)
    if not keep_lines:
        shown = _BREAKS.sub(" ", shown)
    return html.escape(shown, quote=True)


def _make_visible(match: "re.Match[str]") -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def isolate(text: str) -> str:
    """A name as markup that keeps its direction to itself."""
    return f"<bdi>{escape_text(text)}</bdi>"


def format_count(value: int) -> str:
    """`48,112`."""
    return f"{value:,}"


def format_plural(count: int, noun: str) -> str:
    """`1 item`, `2,000 items`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def format_bytes(count: float) -> str:
    """`1.5 MB`."""
    value = float(count)
    for unit in _UNITS:
        if value < 1000 or unit == _UNITS[-1]:
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:.1f} {unit}"


def format_rate(value: float) -> str:
    """A rate with as many digits as it is worth."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def format_axis_time(value_ms: float) -> str:
    """A moment on a time axis, from the start of the run."""
    seconds = value_ms / 1000
    if seconds < 1:
        return f"{value_ms:.0f} ms"
    if seconds < 120:
        return f"{seconds:g} s"
    if seconds < 7200:
        return f"{seconds / 60:g} min"
    return f"{seconds / 3600:g} h"
