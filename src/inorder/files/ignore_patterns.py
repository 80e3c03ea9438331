"""Patterns of ignore files, in regular expressions that take no longer than the path is long for each wildcard.

A wildcard that may give back what it has matched takes exponential time: a line of 20 asterisks would stop a run for
ever. Only the last wildcard of a name, and the last `**` of a path, ever need to. Those before it match as little as
they can, and keep it: no other choice leads further.
"""

import re
from typing import Any

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

_NAME = re.compile(r"\[\^/\]\*((?:\[\^/\]|[^/])*?)(?=\[\^/\]\*)")
"""A wildcard and what follows it, up to another one in the same name."""
_FOLDERS = re.compile(r"(\(\?:\.\+/\)\?|\(\?:/\.\+\)\?)(.*?)(?=\(\?:/\.\+\)\?)")
"""The same for `**`, at the beginning and elsewhere."""


class IgnorePattern(GitIgnoreSpecPattern):
    """A line of an ignore file."""

    @classmethod
    def pattern_to_regex(cls, pattern: Any) -> tuple[Any, bool | None]:
        """Return the regular expression, and whether it includes."""
        regex, include = super().pattern_to_regex(pattern)
        if regex is not None:
            regex = _NAME.sub(r"(?>[^/]*?\1)", regex)
            regex = _FOLDERS.sub(_keep_folders, regex)
        return regex, include


def parse_patterns(lines: list[str]) -> GitIgnoreSpec:
    """Return the patterns of these lines. Raises whatever the library raises for a line that is not valid."""
    return GitIgnoreSpec.from_lines(lines, IgnorePattern)


def _keep_folders(found: re.Match[str]) -> str:
    wildcard = found[1].replace("+", "+?")
    return f"(?>{wildcard}?{found[2]}(?=/))"
