"""Units into chunks.

Chunks follow the sections: a heading begins a new one as soon as the one before is large enough, and never ends one. A
chunk takes units while they fit. What comes out too small is joined to its neighbour where both fit together, and
otherwise evened out with it; crumbs are left only where a document is one.
"""

from collections.abc import Sequence
from itertools import pairwise

from .units import Unit


def pack(units: Sequence[Unit], tokens_min: int, tokens_max: int) -> list[list[Unit]]:
    """Groups of consecutive units, each of at most `tokens_max` tokens."""
    groups = _filled(units, tokens_min, tokens_max)
    groups = _with_headings_in_front(groups, tokens_max)
    return _without_crumbs(groups, tokens_min, tokens_max)


def size(group: Sequence[Unit]) -> int:
    """Tokens."""
    return sum(unit.tokens for unit in group)


def _filled(units: Sequence[Unit], tokens_min: int, tokens_max: int) -> list[list[Unit]]:
    groups: list[list[Unit]] = []
    current: list[Unit] = []
    tokens = 0
    for unit in units:
        is_full = tokens + unit.tokens > tokens_max
        is_new_section = unit.is_heading and tokens >= tokens_min
        if current and (is_full or is_new_section):
            groups.append(current)
            current, tokens = [], 0
        current.append(unit)
        tokens += unit.tokens
    return [*groups, current] if current else groups


def _with_headings_in_front(groups: list[list[Unit]], tokens_max: int) -> list[list[Unit]]:
    """A heading at the end of a chunk belongs to the next one, if it fits there."""
    for group, after in pairwise(groups):
        while len(group) > 1 and group[-1].is_heading and size(after) + group[-1].tokens <= tokens_max:
            after.insert(0, group.pop())
    return groups


def _without_crumbs(groups: list[list[Unit]], tokens_min: int, tokens_max: int) -> list[list[Unit]]:
    kept: list[list[Unit]] = []
    for group in groups:
        if kept and min(size(group), size(kept[-1])) < tokens_min:
            if size(kept[-1]) + size(group) <= tokens_max:
                kept[-1] = kept[-1] + group
                continue
            _even_out(kept[-1], group, tokens_min)
        kept.append(group)
    return kept


def _even_out(before: list[Unit], after: list[Unit], tokens_min: int) -> None:
    """Move units from the larger to the smaller neighbour until both are large enough, or it would not help."""
    while size(after) < tokens_min and len(before) > 1 and size(before) - before[-1].tokens >= tokens_min:
        after.insert(0, before.pop())
    while size(before) < tokens_min and len(after) > 1 and size(after) - after[0].tokens >= tokens_min:
        before.append(after.pop(0))
