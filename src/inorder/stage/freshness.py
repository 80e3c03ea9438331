"""Freshness: whether an item is up to date, and if not, why.

An item is satisfied if all its outputs exist and are not empty and, with fingerprinting, if its fingerprint shows that
they were made of these inputs with this configuration and have not been altered. The first condition that does not hold
is the reason to do the item again; `inorder explain` shows it.
"""

import inspect
import os
import stat
from functools import cache as memoize
from typing import Any, NamedTuple

from inorder.host.regular_file import read_regular

from .contracts import WorkItem
from .data_layout import resolve_output
from .files.file_stat import FileStat
from .files.hash_cache import HashCache
from .fingerprints import (
    Fingerprint,
    checksum_file,
    combine_sha256,
    decode_fingerprint,
    hash_file,
    locate_fingerprint,
)
from .inputs import AddressedInput, Input

# These reasons are part of the manifest format: rows of earlier runs are recognized by them.
OUTPUTS_EXIST = "its outputs are there"
UNCHANGED = "its outputs, inputs and configuration are unchanged"
REMOVED_FROM_PLAN = "it is no longer in the plan, and its outputs were removed"
"""The reason in the last row of a stale item."""
SAYS_SATISFIED = "its method satisfies returned True"
SATISFIED_REASONS = (OUTPUTS_EXIST, UNCHANGED, SAYS_SATISFIED)
"""The reasons in the row of an item that was skipped because it is up to date; workers give any other."""


INPUT_CHANGED = "its input has changed"
INPUT_UNREADABLE = "its input cannot be read: "
"""How the reason begins if an input cannot be hashed."""


class Freshness(NamedTuple):
    """Whether an item is up to date, and the reason."""

    is_satisfied: bool
    reason: str
    fingerprint: Fingerprint | None = None

    @property
    def extras(self) -> dict[str, Any]:
        """What the worker returned when it made the outputs."""
        return {} if self.fingerprint is None else self.fingerprint.extras


def check_planned(item: WorkItem, data: str, *, fingerprinting: bool, cache: HashCache | None) -> Freshness:
    """Check an item of a plan: by its own `satisfies`, if it overrides that of WorkItem; else by its outputs."""
    if type(item).satisfies is not WorkItem.satisfies:
        return _ask_item(item, data, fingerprinting=fingerprinting)
    return check(item, data, fingerprinting=fingerprinting, cache=cache)


def _ask_item(item: WorkItem, data: str, *, fingerprinting: bool) -> Freshness:
    """Let an item decide itself."""
    parameters = _get_parameters(type(item))
    arguments = [data] if "data" in parameters else []
    options = {"fingerprinting": fingerprinting} if "fingerprinting" in parameters else {}
    ask: Any = item.satisfies
    try:
        is_satisfied = bool(ask(*arguments, **options))
        outputs = {name: resolve_output(data, path) for name, path in item.outputs.items()}
    except (Exception, SystemExit) as error:
        return Freshness(False, f"its method satisfies raised {type(error).__name__}: {error}")
    if not is_satisfied:
        return Freshness(False, "its method satisfies returned False")
    return Freshness(True, SAYS_SATISFIED, _read_fingerprint(f"{data}/{locate_fingerprint(outputs)}"))


@memoize
def _get_parameters(kind: type[WorkItem]) -> frozenset[str]:
    return frozenset(inspect.signature(kind.satisfies).parameters)


def check(item: WorkItem, data: str, *, fingerprinting: bool = True, cache: HashCache | None = None) -> Freshness:
    """Check the outputs of an item, its fingerprint and its inputs."""
    if not item.outputs:
        return Freshness(False, "it declares no outputs")
    try:
        outputs = {name: resolve_output(data, path) for name, path in item.outputs.items()}
    except ValueError as error:
        return Freshness(False, str(error))
    for name, path in outputs.items():
        reason = _explain_missing(f"{data}/{path}", name)
        if reason:
            return Freshness(False, reason)
    if not fingerprinting:
        return Freshness(True, OUTPUTS_EXIST)
    found = _read_fingerprint(f"{data}/{locate_fingerprint(outputs)}")
    if found is None:
        return Freshness(False, "it has no fingerprint")
    reason = _explain_stale(item, data, outputs, found, cache)
    return Freshness(not reason, reason or UNCHANGED, found)


def has_changed_input(item: WorkItem, recorded: str) -> bool:
    """Whether the inputs of a processed item differ from those it was made of, which have the hash `recorded`. Reads
    every input; False also if one of them no longer exists, or if it is not known what the item was made of."""
    try:
        hashes = {name: get_sha256(each, None) for name, each in item.inputs.items()}
    except OSError:
        return False
    return bool(hashes and recorded) and combine_sha256(hashes) != recorded


def _explain_missing(path: str, name: str) -> str:
    """Return what is wrong with an output file; empty: nothing."""
    try:
        found = os.stat(path)
    except OSError:
        return f"its output {name!r} is missing"
    if not stat.S_ISREG(found.st_mode):
        return f"its output {name!r} is not a file"
    return "" if found.st_size else f"its output {name!r} is empty"


def _read_fingerprint(path: str) -> Fingerprint | None:
    try:
        return decode_fingerprint(read_regular(path))
    except OSError:
        return None


def _explain_stale(
    item: WorkItem, data: str, outputs: dict[str, str], found: Fingerprint, cache: HashCache | None
) -> str:
    """Return what has changed since the fingerprint was made; empty: nothing."""
    if found.cfg_hash == item.cfg_hash and {name: record.path for name, record in found.outputs.items()} != outputs:
        return "its outputs have other names now"
    if found.cfg_hash != item.cfg_hash:
        return "its configuration has changed"
    try:
        hashes = {name: get_sha256(each, cache) for name, each in item.inputs.items()}
    except OSError as error:
        return f"{INPUT_UNREADABLE}{error.strerror or error}"
    if combine_sha256(hashes) != found.input_sha256:
        return INPUT_CHANGED
    for name, record in found.outputs.items():
        try:
            is_same = _get_checksum(f"{data}/{record.path}", cache) == (record.size, record.crc32)
        except OSError as error:
            return f"its output {name!r} cannot be read: {error.strerror or error}"
        if not is_same:
            return f"its output {name!r} was altered"
    return ""


def get_sha256(source: Input, cache: HashCache | None) -> str:
    """Return the SHA-256 of an input. A file is read only if the cache does not have it."""
    if isinstance(source, AddressedInput):
        return source.sha256
    path = os.fspath(source)
    if cache is None:
        return hash_file(path)
    found = FileStat.read(path)
    digest = None if found.is_racy else cache.get(path, found, "sha256")  # the cache has no racy files
    if digest is None:
        digest = hash_file(path)
        cache.put(path, found, "sha256", digest)
    return digest


def _get_checksum(path: str, cache: HashCache | None) -> tuple[int, int]:
    """Return the size and CRC-32 of a file. It is read only if the cache does not have them."""
    if cache is None:
        return checksum_file(path)
    found = FileStat.read(path)
    known = cache.get(path, found, "crc32")
    if known is not None:
        return found.size, int(known)
    size, checksum = checksum_file(path)
    cache.put(path, found, "crc32", str(checksum))
    return size, checksum
