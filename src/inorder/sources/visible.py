"""The objects of a listing that a run looks at: without hidden ones, and those that an ignore file excludes.

The rules are those of local folders. A part of a key that begins with a dot is hidden, and an object with the name of
an ignore file has rules for what is below its folder.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

from inorder.files.walk import IgnoreRules, is_ignored, parse_rules

from .listing import RemoteListing


def is_hidden(key: str) -> bool:
    """Return whether an object is hidden."""
    return ("/." in key or key.startswith(".")) and any(
        part.startswith(".") and part not in (".", "..") for part in key.split("/")
    )


class IgnoreCheck:
    """Applies the ignore files of all folders above a key."""

    def __init__(
        self, listing: RemoteListing, ignore_files: Sequence[str], warn: Callable[[str], None] = lambda problem: None
    ) -> None:
        """`warn` is called with each problem of an ignore file. Raises InfrastructureError or OperatorError if one
        cannot be read."""
        self._warn = warn
        texts = {
            name: {key.removesuffix(name): listing.read_text(key) for key in listing.find_named(name)}
            for name in ignore_files
        }
        self._texts = {name: found for name, found in texts.items() if found}
        """The text of each ignore file, by its name and its folder, which ends with a slash."""
        self._find_rules = lru_cache(1024)(self._collect_rules)

    def is_ignored(self, key: str) -> bool:
        """Whether a key, or a folder above it, is excluded."""
        if not self._texts:
            return False
        found = self._find_rules(key.rpartition("/")[0])
        return found is None or is_ignored(found, key)

    def _collect_rules(self, folder: str) -> tuple[IgnoreRules, ...] | None:
        """The rules for the entries of a folder; None: the folder is excluded."""
        above: tuple[IgnoreRules, ...] = ()
        if folder:
            found = self._find_rules(folder.rpartition("/")[0])
            if found is None or is_ignored(found, f"{folder}/"):
                return None
            above = found
        place = f"{folder}/" if folder else ""
        own = [
            parse_rules(place, texts[place], f"{place}{name}") for name, texts in self._texts.items() if place in texts
        ]
        for rules in own:
            for problem in rules.problems:
                self._warn(problem)
        return (*above, *own)
