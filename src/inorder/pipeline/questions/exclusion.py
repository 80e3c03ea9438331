"""Why a file that is there is not read: which rule leaves it out."""

import os
from collections.abc import Sequence

from inorder.files.walk import IgnoreRules, read_ignore_file
from inorder.pipeline.sources.names import SourcePart, is_inside


def find_exclusion(part: SourcePart, data: str, ignore_files: Sequence[str]) -> str:
    """Return why a walk leaves out what is at the path of this part; empty: it does not, or the reason is not known.
    `ignore_files` are the names of the files with rules."""
    root = os.path.realpath(part.location)
    if is_inside(os.path.join(root, part.below), os.path.realpath(data)):
        return f"it lies in DATA: {data}"
    rules: list[tuple[str, IgnoreRules]] = []
    names = part.below.split("/") if part.below else []
    for depth, name in enumerate(names):
        folder = "".join(f"{each}/" for each in names[:depth])
        place = os.path.join(root, folder)
        found = ((file, read_ignore_file(place, folder, file)) for file in ignore_files)
        rules += [(os.path.join(part.location, folder, file), each) for file, each in found]
        path = f"{folder}{name}"
        if name.startswith("."):
            return f"it is hidden: {path}"
        relative = f"{path}/" if os.path.isdir(os.path.join(root, path)) else path
        rule = _find_rule(rules, relative)
        if rule:
            return f"excluded by {rule}"
    return ""


def _find_rule(rules: Sequence[tuple[str, IgnoreRules]], relative: str) -> str:
    """The file and the line of the rule that excludes a path; empty: none does."""
    for path, (folder, spec, _) in reversed(rules):
        found = spec.check_file(relative[len(folder) :])
        if found.include is not None:
            line = "" if found.index is None else str(getattr(spec.patterns[found.index], "pattern", ""))
            return f"{path}: {line}" if found.include else ""
    return ""
