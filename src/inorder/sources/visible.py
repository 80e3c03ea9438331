"""The objects of a listing that a run looks at: without hidden ones, and those that an ignore file excludes.

The rules are those of local folders. A part of a key that begins with a dot is hidden, and an object with the name of
an ignore file has rules for what is below its folder.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from inorder.files.walk import IgnoreRules, is_ignored, parse_rules
from inorder.stage.sources import Roots, quote_id, quote_key

from .fetching import FetchLimits
from .listing import RemoteListing, RemoteObject, open_listing
from .remote_input import RemoteInput


class ListedObject(NamedTuple):
    """An object below a root, and the id of its item."""

    item_id: str
    source: RemoteInput
    problem: str
    """Why it cannot be read; empty if no reason is known."""


def list_objects(
    roots: Roots, name: str, ignore_files: Sequence[str], limits: FetchLimits | None = None
) -> Iterator[ListedObject]:
    """Yield the visible objects of the remote root with this name. It is listed within limits. Raises OperatorError or
    InfrastructureError if it cannot be listed."""
    address = roots.paths[name]
    if address not in roots.listings:
        roots.listings[address] = open_listing(address, limits)
    root_id = quote_id(name)
    for key, source, problem in list_visible(roots.listings[address], ignore_files):
        yield ListedObject(f"{root_id}/{quote_key(key)}" if key else root_id, source, problem)


def list_visible(listing: RemoteListing, ignore_files: Sequence[str]) -> Iterator[RemoteObject]:
    """Every object that is neither hidden nor ignored. Of several ignore files in one folder the last has precedence.
    Raises InfrastructureError or OperatorError if an ignore file cannot be read."""
    rules = {
        name: {key.removesuffix(name): listing.read_text(key) for key in listing.find_named(name)}
        for name in ignore_files
    }
    check = _IgnoreCheck({name: found for name, found in rules.items() if found})
    return (each for each in listing if not _is_hidden(each.key) and not check.is_ignored(each.key))


def _is_hidden(key: str) -> bool:
    return ("/." in key or key.startswith(".")) and any(
        part.startswith(".") and part not in (".", "..") for part in key.split("/")
    )


class _IgnoreCheck:
    """Applies the ignore files of all folders above a key."""

    def __init__(self, texts: dict[str, dict[str, str]]) -> None:
        """`texts` has the text of each ignore file by its name and its folder, which ends with a slash."""
        self._texts = texts
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
        own = (parse_rules(place, texts[place]) for texts in self._texts.values() if place in texts)
        return (*above, *own)
