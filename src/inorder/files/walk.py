"""Walk folders in an order that does not depend on the machine: the byte order of names.

Hidden entries are left out, and so are those that an ignore file names, in its folder and below. Ignore files have the
syntax of `.gitignore`. Links to folders are not followed, so there are no loops.

What is wrong with an ignore file costs the line that is wrong, as with Git: the other lines hold.
"""

import os
import warnings
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from inorder.host.regular_file import open_regular

from .listing import list_folder

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

UNREADABLE_FOLDER = "the folder cannot be read"
"""How the problem of a folder begins whose entries are not known."""
_BYTES_MAX = 2**24
"""Of an ignore file; what comes after them is not read."""
_PATTERN_MAX = 4096
"""Characters of a pattern: no path is longer, and the time to compile a pattern grows with it."""
_PROBLEMS_MAX, _SHOWN_MAX = 5, 40
"""How many lines of an ignore file are reported, and how much of each."""


class IgnoreRules(NamedTuple):
    """The rules of one ignore file."""

    folder: str
    """Its path from the root, with a slash at the end."""
    spec: "GitIgnoreSpec"
    problems: tuple[str, ...] = ()
    """What is wrong with the file, by line: these lines have no effect."""


class WalkedFolder(NamedTuple):
    """A folder below a root, with the rules that hold in it."""

    path: str
    relative: str
    """Its path from the root, with a slash at the end; empty: it is the root."""
    rules: tuple[IgnoreRules, ...]

    def leaves_out(self, name: str, *, is_folder: bool) -> bool:
        """Whether a walk leaves out the entry of this name: it is hidden, or the rules name it."""
        relative = f"{self.relative}{name}/" if is_folder else f"{self.relative}{name}"
        return name.startswith(".") or is_ignored(self.rules, relative)


def walk_folders(
    root: str, ignore_files: Sequence[str], *, excluded_paths: Collection[str] = ()
) -> Iterator[WalkedFolder]:
    """Yield every folder that may have files to read, the root included, except `excluded_paths` and what lies below
    them. A folder that cannot be read is left out."""
    stack = [WalkedFolder(root, "", ())]
    while stack:
        folder = stack.pop()
        try:
            listed = list_folder(folder.path)
        except OSError:
            continue
        found = folder._replace(rules=(*folder.rules, *_read_rules(folder, ignore_files, listed.files)))
        yield found
        for name in reversed(listed.folders):
            path = os.path.join(folder.path, name)
            if path not in excluded_paths and not found.leaves_out(name, is_folder=True):
                stack.append(WalkedFolder(path, f"{folder.relative}{name}/", found.rules))


def _read_rules(folder: WalkedFolder, names: Sequence[str], files: Sequence[str]) -> Iterator[IgnoreRules]:
    for name in names:
        if name in files:
            yield read_ignore_file(folder.path, folder.relative, name)


def read_ignore_file(folder: str, relative: str, name: str) -> IgnoreRules:
    """Return the rules of the ignore file of this name in a folder; none if it is not there. `relative` is the path of
    the folder from the root, with a slash at the end."""
    path = os.path.join(folder, name)
    try:
        with open_regular(path) as file:
            text = file.read(_BYTES_MAX).decode("utf-8", "surrogateescape")
            is_whole = not file.read(1)
    except FileNotFoundError:
        return parse_rules(relative, "", path)
    except OSError as error:
        problem = f"{path} cannot be read: {error.strerror or error}; it leaves nothing out"
        return parse_rules(relative, "", path)._replace(problems=(problem,))
    rules = parse_rules(relative, text, path)
    if is_whole:
        return rules
    return rules._replace(problems=(*rules.problems, f"{path} is not read beyond {_BYTES_MAX:,} bytes"))


def parse_rules(folder: str, text: str, path: str) -> IgnoreRules:
    """Return the rules of the ignore file at `path`. `folder` is its folder, as a path from the root that ends with a
    slash."""
    from .ignore_patterns import parse_patterns  # slow to import, and most folders have no ignore file

    lines = text.splitlines()
    with warnings.catch_warnings(action="ignore", category=FutureWarning):  # of `re`, about a bracket in brackets
        try:
            if all(len(line) <= _PATTERN_MAX for line in lines):
                return IgnoreRules(folder, parse_patterns(lines))
        except Exception:  # whatever the library raises: it says neither which line it is, nor all that it may raise
            pass
        return _parse_lines(folder, lines, path)


def _parse_lines(folder: str, lines: list[str], path: str) -> IgnoreRules:
    """Return the rules of those lines that have valid patterns."""
    from .ignore_patterns import parse_patterns

    valid, problems = [], []
    for number, line in enumerate(lines, 1):
        try:
            if len(line) > _PATTERN_MAX:
                raise ValueError
            parse_patterns([line])
        except Exception:
            shown = line if len(line) <= _SHOWN_MAX else f"{line[:_SHOWN_MAX]}…"
            problems.append(f"{path}, line {number}: {shown!r} is no valid pattern; the line has no effect")
            valid.append("")
        else:
            valid.append(line)
    if len(problems) > _PROBLEMS_MAX:
        rest = len(problems) - _PROBLEMS_MAX
        problems[_PROBLEMS_MAX:] = [f"{path}: {rest:,} more lines are no valid patterns"]
    return IgnoreRules(folder, parse_patterns(valid), tuple(problems))


def is_ignored(rules: Sequence[IgnoreRules], relative: str) -> bool:
    """Whether these rules exclude a path from the root; that of a folder ends with a slash. The rules of the innermost
    folder that match the path decide."""
    for folder, spec, _ in reversed(rules):
        verdict = spec.check_file(relative[len(folder) :]).include
        if verdict is not None:
            return verdict
    return False
