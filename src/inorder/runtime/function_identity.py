"""To which function a journal of `imap` belongs: its name, its code or its version, and its key."""

import sys
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import msgspec

from inorder.errors import OperatorError, require
from inorder.host.caller import warn_caller
from inorder.journal.records import Header
from inorder.sinks.committed_keys import CommittedKeys

from .code_identity import describe_code, qualified_name
from .identity import hash_strings, new_run_id

_CODE, _VERSION, _KEY = "code:", "version:", " key:"
PYTHON = f"{sys.implementation.name}-{sys.version_info[0]}.{sys.version_info[1]}"
"""The Python whose compiled code can be compared."""


def make_header(
    function: Callable[..., Any], key: Callable[[Any], Any] | None, version: str, created_ms: int
) -> Header:
    """Make the header of a new journal of a function."""
    config = f"{_VERSION}{version}" if version else f"{_CODE}{PYTHON}:{_hash_code(function)}"
    plan = hash_strings("imap", qualified_name(function))
    if key is None:
        return Header(new_run_id(), plan, config, [], created_ms)
    return Header(new_run_id(), plan, f"{config}{_KEY}{PYTHON}:{_hash_code(key)}", [CommittedKeys.name], created_ms)


def _hash_code(function: Callable[..., Any]) -> str:
    text = "\0".join(describe_code(function))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def choose_header(path: str, function: Callable[..., Any], ours: Header, theirs: Header) -> Header:
    """Return the header with which a journal goes on: ours, or theirs if it is of inorder 0.2 or before, which recorded
    the name of the function alone. Raises OperatorError if the journal belongs to another function, version or key."""
    name = f"{qualified_name(function):.80}"
    is_former = not theirs.plan_hash
    require(
        ours.plan_hash == (theirs.config_hash if is_former else theirs.plan_hash),
        f"the journal {path} was not created by imap with the function {name}; "
        "pass the function that it was created with, or another journal to start over",
    )
    require(
        not theirs.sinks or bool(ours.sinks),
        f"the journal {path} was created with key=; pass the same key, or another journal to start over",
    )
    if is_former:
        return msgspec.structs.replace(theirs, run_id=ours.run_id)
    require(
        not ours.sinks or bool(theirs.sinks),
        f"the journal {path} was created without key=, and has no keys of what was delivered; "
        "leave out key= to go on with the same items, or pass another journal to start over",
    )
    our_code, our_key = _split(ours)
    their_code, their_key = _split(theirs)
    _require_same_code(path, name, our_code, their_code)
    if our_key != their_key and their_key.startswith(PYTHON):
        _report_another_key(path, is_error=not our_code.startswith(_VERSION))
    return msgspec.structs.replace(ours, created_ms=theirs.created_ms)


def _split(header: Header) -> tuple[str, str]:
    """Return the code or version that a header names, and the key."""
    code, _, key = header.config_hash.rpartition(_KEY) if header.sinks else (header.config_hash, "", "")
    return code, key


def _require_same_code(path: str, name: str, ours: str, theirs: str) -> None:
    if ours == theirs or (ours.startswith(_VERSION) and theirs.startswith(_CODE)):
        return
    require(
        not theirs.startswith(_VERSION),
        f"the journal {path} belongs to version={theirs.removeprefix(_VERSION)!r} of {name}; "
        "pass that version to go on with its results, or another journal to start over",
    )
    change = (
        f"the code of {name}, or a constant that it uses, has changed since the journal {path} was created"
        if theirs.startswith(f"{_CODE}{PYTHON}:")
        else f"the journal {path} was created by another Python, and compiled code cannot be compared"
    )
    raise OperatorError(
        f"{change}; to go on with the results that it has, pass version=, a text of your choice; "
        "to start over, pass another journal"
    )


def _report_another_key(path: str, *, is_error: bool) -> None:
    """Raise OperatorError, or warn if a version stands for the code."""
    change = f"the code of key= has changed since the journal {path} was created"
    require(
        not is_error,
        f"{change}, and items whose keys are others now would be delivered again; pass the key that it was created "
        "with, or another journal to start over; if the keys are the same, pass version=, a text of your choice",
    )
    warn_caller(f"{change}; items whose keys are others now are delivered again")
