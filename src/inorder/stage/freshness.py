"""Whether an item is done already, and if not, why not.

An item is satisfied when all its outputs are there and not empty and, with fingerprinting, when its fingerprint says
that they were made of these inputs with this configuration, and they still are what was made. The first thing that is
not so is the reason to do the item again; `inorder explain` shows it.
"""

import os
import stat
from functools import partial
from typing import Any, NamedTuple

from .contracts import StagePlan, WorkItem
from .data_layout import resolve_output
from .file_stat import FileStat
from .fingerprints import Fingerprint, checksum_file, combine_sha256, decode_fingerprint, hash_file, locate_fingerprint
from .hash_cache import HashCache

OUTPUTS_EXIST = "its outputs are there"
UNCHANGED = "its outputs, inputs and configuration are unchanged"
REMOVED_FROM_PLAN = "it is no longer in the plan, and its outputs were removed"
"""The reason in the last row of an item that is not there any more."""
SATISFIED_REASONS = (OUTPUTS_EXIST, UNCHANGED)
"""The reasons in the row of an item that was skipped because it is done; any other was given by its worker."""


class Freshness(NamedTuple):
    """Whether an item is done, and why or why not."""

    is_satisfied: bool
    reason: str
    fingerprint: Fingerprint | None = None

    @property
    def extras(self) -> dict[str, Any]:
        """What the worker had to say when it made the outputs."""
        return {} if self.fingerprint is None else self.fingerprint.extras


def check_planned(
    item: WorkItem, plan: StagePlan, data: str, *, fingerprinting: bool, cache: HashCache | None
) -> Freshness:
    """As the plan wants it judged: by its outputs, or, where it has none, by what the plan itself says."""
    if plan.judge is None or item.outputs:
        return check(item, data, fingerprinting=fingerprinting, cache=cache)
    reason = plan.judge(item, partial(get_sha256, cache=cache))
    return Freshness(bool(reason), reason or "it has changed, or was never done")


def check(item: WorkItem, data: str, *, fingerprinting: bool = True, cache: HashCache | None = None) -> Freshness:
    """Look at the outputs of an item, its fingerprint and its inputs."""
    if not item.outputs:
        return Freshness(False, "it declares no outputs")
    try:
        outputs = {name: resolve_output(data, path) for name, path in item.outputs.items()}
    except ValueError as error:
        return Freshness(False, str(error))
    for name, path in outputs.items():
        reason = _missing(f"{data}/{path}", name)
        if reason:
            return Freshness(False, reason)
    if not fingerprinting:
        return Freshness(True, OUTPUTS_EXIST)
    found = _fingerprint(f"{data}/{locate_fingerprint(outputs)}")
    if found is None:
        return Freshness(False, "it has no fingerprint")
    reason = _stale(item, data, outputs, found, cache)
    return Freshness(not reason, reason or UNCHANGED, found)


def _missing(path: str, name: str) -> str:
    try:
        found = os.stat(path)
    except OSError:
        return f"its output {name!r} is missing"
    if not stat.S_ISREG(found.st_mode):
        return f"its output {name!r} is no file"
    return "" if found.st_size else f"its output {name!r} is empty"


def _fingerprint(path: str) -> Fingerprint | None:
    try:
        with open(path, "rb", buffering=0) as file:
            return decode_fingerprint(file.read())
    except OSError:
        return None


def _stale(item: WorkItem, data: str, outputs: dict[str, str], found: Fingerprint, cache: HashCache | None) -> str:
    """What has changed; empty: nothing."""
    if found.cfg_hash != item.cfg_hash:
        return "its configuration has changed"
    if {name: made.path for name, made in found.outputs.items()} != outputs:
        return "its outputs have other names now"
    try:
        hashes = {name: get_sha256(os.fspath(path), cache) for name, path in item.inputs.items()}
    except OSError as error:
        return f"its input cannot be read: {error.strerror or error}"
    if combine_sha256(hashes) != found.input_sha256:
        return "its input has changed"
    for name, made in found.outputs.items():
        try:
            is_same = _crc32(f"{data}/{made.path}", cache) == (made.size, made.crc32)
        except OSError as error:
            return f"its output {name!r} cannot be read: {error.strerror or error}"
        if not is_same:
            return f"its output {name!r} was altered"
    return ""


def get_sha256(path: str, cache: HashCache | None) -> str:
    """Of a file, which is read only if it looks other than before."""
    if cache is None:
        return hash_file(path)
    look = FileStat.at(path)
    known = cache.get(path, look, "sha256")
    if known is None:
        known = hash_file(path)
        cache.put(path, look, "sha256", known)
    return known


def _crc32(path: str, cache: HashCache | None) -> tuple[int, int]:
    if cache is None:
        return checksum_file(path)
    look = FileStat.at(path)
    known = cache.get(path, look, "crc32")
    if known is not None:
        return look.size, int(known)
    size, checksum = checksum_file(path)
    cache.put(path, look, "crc32", str(checksum))
    return size, checksum
