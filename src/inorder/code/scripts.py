"""The scripts of Vue and Svelte components, which are parsed in the place of the whole file."""

import re
from typing import NamedTuple

COMPONENTS = ("svelte", "vue")
"""The languages whose files have scripts in them."""
SCRIPT_LANGUAGES = ("javascript", "tsx", "typescript")
"""What the scripts are written in."""
_BEGIN = re.compile(rb"<script(?=[\s>])([^>]*)>", re.IGNORECASE)
_END = re.compile(rb"</script\s*>", re.IGNORECASE)
_LANGUAGE = re.compile(rb"\blang\s*=\s*[\"']?(?:text/)?(ts|tsx|typescript)\b", re.IGNORECASE)
_NO_LINE_END = re.compile(rb"[^\r\n]")


class Script(NamedTuple):
    """All scripts of a component."""

    language: str
    data: bytes
    """The file with spaces in place of everything else, so that offsets and lines are those of the file."""


def find_script(data: bytes) -> Script | None:
    """Return the scripts of a component in UTF-8; None if it has none. The language is that of the first script."""
    kept, end, tags = [], 0, b""
    while begin := _BEGIN.search(data, end):
        last = _END.search(data, begin.end())
        if last is None:
            break
        kept += [_NO_LINE_END.sub(b" ", data[end : begin.end()]), data[begin.end() : last.start()]]
        end, tags = last.start(), tags or begin[0]
    if not kept:
        return None
    named = _LANGUAGE.search(tags)
    language = {None: "javascript", b"tsx": "tsx"}.get(named and named[1].lower(), "typescript")
    return Script(language, b"".join([*kept, _NO_LINE_END.sub(b" ", data[end:])]))
