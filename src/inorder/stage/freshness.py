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
from .data_layout import output_path
from .file_stat import Look
from .fingerprints import Fingerprint, beside, combined_sha256, crc32_of, decode, sha256_of
from .hash_cache import StatCache

OUTPUTS_THERE = "its outputs are there"
UNCHANGED = "its outputs, inputs and configuration are unchanged"
GONE = "it is no longer in the plan, and its outputs were removed"
"""The reason in the last row of an item that is not there any more."""
SATISFIED = (OUTPUTS_THERE, UNCHANGED)
"""The reasons in the row of an item that was skipped because it is done; any other was given by its worker."""


class Judgement(NamedTuple):
    """Whether an item is done, and why or why not."""

    is_satisfied: bool
    reason: str
    fingerprint: Fingerprint | None = None

    @property
    def extras(self) -> dict[str, Any]:
        """What the worker had to say when it made the outputs."""
        return {} if self.fingerprint is None else self.fingerprint.extras


def judge_planned(
    item: WorkItem, plan: StagePlan, data: str, *, fingerprinting: bool, cache: StatCache | None
) -> Judgement:
    """As the plan wants it judged: by its outputs, or, where it has none, by what the plan itself says."""
    if plan.judge is None or item.outputs:
        return judge(item, data, fingerprinting=fingerprinting, cache=cache)
    reason = plan.judge(item, partial(known_sha256, cache=cache))
    return Judgement(bool(reason), reason or "it has changed, or was never done")


def judge(item: WorkItem, data: str, *, fingerprinting: bool = True, cache: StatCache | None = None) -> Judgement:
    """Look at the outputs of an item, its fingerprint and its inputs."""
    if not item.outputs:
        return Judgement(False, "it declares no outputs")
    try:
        outputs = {name: output_path(data, path) for name, path in item.outputs.items()}
    except ValueError as error:
        return Judgement(False, str(error))
    for name, path in outputs.items():
        reason = _missing(f"{data}/{path}", name)
        if reason:
            return Judgement(False, reason)
    if not fingerprinting:
        return Judgement(True, OUTPUTS_THERE)
    found = _fingerprint(f"{data}/{beside(outputs)}")
    if found is None:
        return Judgement(False, "it has no fingerprint")
    reason = _stale(item, data, outputs, found, cache)
    return Judgement(not reason, reason or UNCHANGED, found)


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
            return decode(file.read())
    except OSError:
        return None


def _stale(item: WorkItem, data: str, outputs: dict[str, str], found: Fingerprint, cache: StatCache | None) -> str:
    """What has changed; empty: nothing."""
    if found.cfg_hash != item.cfg_hash:
        return "its configuration has changed"
    if {name: made.path for name, made in found.outputs.items()} != outputs:
        return "its outputs have other names now"
    try:
        hashes = {name: known_sha256(os.fspath(path), cache) for name, path in item.inputs.items()}
    except OSError as error:
        return f"its input cannot be read: {error.strerror or error}"
    if combined_sha256(hashes) != found.input_sha256:
        return "its input has changed"
    for name, made in found.outputs.items():
        try:
            is_same = _crc32(f"{data}/{made.path}", cache) == (made.size, made.crc32)
        except OSError as error:
            return f"its output {name!r} cannot be read: {error.strerror or error}"
        if not is_same:
            return f"its output {name!r} was altered"
    return ""


def known_sha256(path: str, cache: StatCache | None) -> str:
    """Of a file, which is read only if it looks other than before."""
    if cache is None:
        return sha256_of(path)
    look = Look.at(path)
    known = cache.get(path, look, "sha256")
    if known is None:
        known = sha256_of(path)
        cache.put(path, look, "sha256", known)
    return known


def _crc32(path: str, cache: StatCache | None) -> tuple[int, int]:
    if cache is None:
        return crc32_of(path)
    look = Look.at(path)
    known = cache.get(path, look, "crc32")
    if known is not None:
        return look.size, int(known)
    size, checksum = crc32_of(path)
    cache.put(path, look, "crc32", str(checksum))
    return size, checksum
