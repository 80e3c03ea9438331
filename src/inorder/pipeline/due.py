"""Which steps of a file are due, and why.

A step is due if it has no result, if its result has other settings, or if what it reads is not what the result was made
of. Whether a step is due that reads the result of a step that is due itself is decided by the visit, when that result
is known: an equal one leaves it alone.

A step that has failed is due again if another run may do better. What is wrong with the content of a file stays wrong,
so such a file waits until it changes, until other passwords are given, or until it is asked for.
"""

from hashlib import blake2b
from typing import Literal, NamedTuple

from inorder.library.reader import KnownFile, StepState
from inorder.library.rows import HASH_BYTES

from .sources.classify import FileKind
from .steps import DueStep, Step, StepTable

Reason = Literal["new", "settings", "input", "failed", "forced", "depends", "answers"]
"""Why a step is due: it has no result, its settings or its input have changed, it has failed, all steps are asked for;
it depends on the result of a step that is due; or its result lacks answers of a model."""
_COMPARED = ("depends", "input")
"""Reasons of steps that do not run if their input turns out to be the same."""
FINAL = frozenset(("input",))
"""Categories of failures that are the same in every run."""


def mark_lacking(content: bytes) -> bytes:
    """Return the hash of the input of a result that lacks answers of a model. It is no hash of a content, so the
    result is not what it will be made of all of its answers."""
    return blake2b(content, digest_size=HASH_BYTES, person=b"lacks answers").digest()


class Due(NamedTuple):
    """A step that is due."""

    step: Step
    reason: Reason
    present: StepState | None
    """What the step did last; None: nothing."""


def find_due(
    table: StepTable,
    kind: FileKind,
    known: KnownFile | None,
    *,
    has_new_content: bool = False,
    retries: bool = False,
    force: bool = False,
) -> list[Due]:
    """Return the steps of a file that are due, in their order. `known`: what the library knows of the file; None:
    nothing. `has_new_content`: the file has, or may have, another content than that. `retries`: every step that has
    failed is due. `force`: all steps are due."""
    states = {} if known is None else known.states
    content = None if known is None or has_new_content else known.sha256[:HASH_BYTES]
    found: list[Due] = []
    names: set[str] = set()
    blocked: set[str] = set()
    """Steps that have no result, and get none in this run."""
    for step in table.list_steps(kind):
        state = states.get(step.name)
        if step.reads in blocked:
            blocked.add(step.name)
            continue
        source = states.get(step.reads) if step.reads else None
        expected = content if not step.reads else (source.output if source is not None else None)
        reason = _find_reason(step, state, expected, depends=step.reads in names, retries=retries)
        if reason == "input" and _lacks_answers(state, expected):
            reason = "answers" if table.asks == step.name else None
        if force:
            reason = "forced"
        if reason and not table.is_enabled(step.name):
            reason = None
        if reason:
            names.add(step.name)
            found.append(Due(step, reason, state))
        elif state is None or state.output is None:
            blocked.add(step.name)
    return found


def _lacks_answers(state: StepState | None, content: bytes | None) -> bool:
    """Whether the result of a step was made of what it reads now, and lacks answers of a model."""
    return content is not None and state is not None and state.input == mark_lacking(content)


def _find_reason(
    step: Step, state: StepState | None, expected: bytes | None, *, depends: bool, retries: bool
) -> Reason | None:
    if state is None:
        return "new"
    if state.output is None:
        if state.settings not in (step.settings, step.failed_settings):
            return "settings"
        is_other = depends or state.input != expected
        return "failed" if retries or is_other or state.category not in FINAL else None
    if state.settings != step.settings:
        return "settings"
    if depends:
        return "depends"
    return "input" if state.input != expected else None


def make_due_steps(due: list[Due]) -> list[DueStep]:
    """Return what a visit needs to know of steps that are due."""
    return [
        DueStep(
            each.step.name,
            each.step.reads,
            each.step.settings,
            each.present.input if each.reason in _COMPARED and each.present is not None else b"",
            (each.present.output or b"") if each.reason in _COMPARED and each.present is not None else b"",
        )
        for each in due
    ]
