"""Walk folders in an order that does not depend on the machine: the byte order of names.

Hidden entries are left out, and so are those that an ignore file names, in its folder and below. Ignore files have the
syntax of `.gitignore`. Links to folders are not followed, so there are no loops.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .listing import list_folder

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

UNREADABLE_FOLDER = "the folder cannot be read"
"""How the problem of a folder begins whose entries are not known."""


class IgnoreRules(NamedTuple):
    """The rules of one ignore file."""

    folder: str
    """Its path from the root, with a slash at the end."""
    spec: "GitIgnoreSpec"


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
        if name in files and (rules := read_ignore_file(folder.path, folder.relative, name)) is not None:
            yield rules


def read_ignore_file(folder: str, relative: str, name: str) -> IgnoreRules | None:
    """Return the rules of the ignore file of this name in a folder; None: it cannot be read. `relative` is the path of
    the folder from the root, with a slash at the end."""
    try:
        text = Path(folder, name).read_text("utf-8", "surrogateescape")
    except OSError:
        return None
    return parse_rules(relative, text)


def parse_rules(folder: str, text: str) -> IgnoreRules:
    """The rules of an ignore file in a folder, whose path from the root ends with a slash."""
    from pathspec import GitIgnoreSpec  # slow to import, and most folders have no ignore file

    return IgnoreRules(folder, GitIgnoreSpec.from_lines(text.splitlines()))


def is_ignored(rules: Sequence[IgnoreRules], relative: str) -> bool:
    """Whether these rules exclude a path from the root; that of a folder ends with a slash. The rules of the innermost
    folder that match the path decide."""
    for folder, spec in reversed(rules):
        verdict = spec.check_file(relative[len(folder) :]).include
        if verdict is not None:
            return verdict
    return False
