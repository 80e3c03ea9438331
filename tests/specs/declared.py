"""Tables that stand in the code as they are: states, moves, options, marks, categories."""

import ast
import inspect
from collections.abc import Iterator
from errno import errorcode
from types import ModuleType
from typing import NamedTuple

import msgspec

from inorder.core import options as options_module
from inorder.core.options import KernelOptions, PressureOptions, RetryOptions, WindowOptions
from inorder.core.pressure import SIGNALS, USER_OPTIONS, Level, Pressure
from inorder.core.retry import backoff_ms
from inorder.core.transitions import TERMINAL_STATES, TRANSITIONS, State, is_legal
from inorder.core.windows import window as windows_module
from inorder.core.windows.window import SizingSnapshot, choose_target
from inorder.engines.error_table import RULES, TRANSIENT_ERRNOS
from inorder.errors import Category, Failure
from inorder.runtime import limits as limits_module
from tests.specs.pages import code, table

OPTION_GROUPS = {
    "WindowOptions": "windows.",
    "PressureOptions": "pressure.",
    "RetryOptions": "retry.",
    "KernelOptions": "",
}


class Field(NamedTuple):
    """One field of a struct, as its source declares it."""

    name: str
    type: str
    default: str
    meaning: str


def fields_of(module: ModuleType, class_name: str) -> Iterator[Field]:
    """The fields of a class with the text of their defaults and the docstring under each."""
    source = inspect.getsource(module)
    [found] = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name == class_name]
    for node, after in zip(found.body, [*found.body[1:], None], strict=True):
        match node:
            case ast.AnnAssign(target=ast.Name(name), annotation=annotation, value=value):
                default = ast.get_source_segment(source, value) if value is not None else None
                yield Field(name, ast.unparse(annotation), default or "", _docstring(after))


def _docstring(node: ast.stmt | None) -> str:
    match node:
        case ast.Expr(ast.Constant(str() as text)):
            return " ".join(text.split())
    return ""


def options() -> dict[str, Field]:
    """Every option of the kernel by its full name."""
    return {
        prefix + field.name: field
        for class_name, prefix in OPTION_GROUPS.items()
        for field in fields_of(options_module, class_name)
        if not field.default.startswith("msgspec.field")
    }


def option_table(*names: str) -> str:
    """Options by name; a name that ends in a dot stands for all of its group."""
    known = options()
    chosen = [
        full for name in names for full in known if full == name or (name.endswith(".") and full.startswith(name))
    ]
    rows = [(code(name), code(known[name].default), known[name].meaning) for name in chosen]
    return table(("option", "default", "reason"), rows)


def user_limits(class_name: str) -> str:
    """The fields of `Windows` or `Budgets`."""
    rows = [
        (code(f"{class_name.lower()}.{field.name}"), code(field.default), field.meaning)
        for field in fields_of(limits_module, class_name)
    ]
    return table(("option", "default", "meaning"), rows)


def states() -> str:
    rows = [(state.value, code(state.name), "yes" if state in TERMINAL_STATES else "no") for state in State]
    return table(("code", "state", "terminal"), rows)


def transitions() -> str:
    rows = [
        (number, code(move.prior.name), code(move.attempted.name), move.occasion)
        for number, move in enumerate(TRANSITIONS, start=1)
    ]
    return table(("no.", "from", "to", "occasion"), rows)


def pairs() -> str:
    rows = [
        (f"{prior.value} {code(prior.name)}", *("yes" if is_legal(prior, attempted) else "" for attempted in State))
        for prior in State
    ]
    return table(("from \\ to", *(str(state.value) for state in State)), rows)


def window_record() -> str:
    rows = [(code(field.name), code(field.type), field.meaning) for field in fields_of(windows_module, "SealedWindow")]
    return table(("field", "type", "note"), rows)


def sizing() -> str:
    limits = WindowOptions()
    quiet = SizingSnapshot(
        target_entries=limits.entries,
        commit_lag=0,
        used_bytes=0,
        bytes_soft=PressureOptions().buffered_bytes_soft,
        retries=0,
        entries=limits.entries,
        starved_steps=0,
    )
    changes: list[dict[str, int]] = [
        {},
        {"used_bytes": quiet.bytes_soft},
        {"used_bytes": quiet.bytes_soft + 1},
        {"retries": limits.entries // 4 - 1},
        {"retries": limits.entries // 4},
        {"resident_bytes": 4001, "resident_bytes_soft": 4000},
        {"commit_lag": limits.lag_entries},
        {"commit_lag": limits.lag_entries + 1},
        {"starved_steps": 1},
        {"starved_steps": 1, "elapsed_ms": 500, "starved_ms": 400},
        {"starved_steps": 1, "commit_lag": limits.lag_entries + 1},
        {"starved_steps": 1, "retries": limits.entries},
        {"starved_steps": 1, "used_bytes": quiet.bytes_soft + 1},
        {"starved_entries": 256, "retries": limits.entries},
        {"starved_entries": 255, "retries": limits.entries},
        {"target_entries": limits.entries_min, "retries": limits.entries},
        {"target_entries": limits.entries_max, "starved_steps": 1},
    ]
    rows = []
    for change in changes:
        snapshot = msgspec.structs.replace(quiet, **change)
        target, why = choose_target(limits, snapshot)
        label = ", ".join(f"{code(name)} {value}" for name, value in change.items())
        rows.append((label or "nothing", snapshot.target_entries, target, why))
    return table(("differs from a quiet close by", "target", "next target", "why"), rows)


def signals() -> str:
    rows = [
        (
            signal,
            code(f"pressure.{_mark_of(index, Level.SOFT)}"),
            code(f"pressure.{_mark_of(index, Level.HARD)}"),
            " and ".join(code(options[index]) for options in USER_OPTIONS.values()),
        )
        for index, signal in enumerate(SIGNALS)
    ]
    return table(("signal", "slows above", "pauses above", "set by the user with"), rows)


def _mark_of(index: int, level: Level) -> str:
    """The option that this signal is held against, found by trying each."""
    limits = PressureOptions()
    matching = [
        name
        for name in limits.__struct_fields__
        if name.endswith(f"_{level.name.lower()}")
        and _level_at(index, getattr(limits, name)) < level == _level_at(index, getattr(limits, name) + 1)
    ]
    [name] = matching
    return name


def _level_at(index: int, value: int) -> Level:
    pressure = Pressure(PressureOptions())
    values = [0, 0, 0, 0]
    values[index] = value
    pressure.observe(0, (values[0], values[1], values[2], values[3]))
    return pressure.level


def categories() -> str:
    rows = [(code(category.value), _verdict(category, True), _verdict(category, False)) for category in Category]
    return table(("category", "`retryable` set", "`retryable` not set"), rows)


def error_rules() -> str:
    rows = []
    for number, rule in enumerate(RULES, 1):
        classes = ", ".join(code(name) for name in rule.classes)
        verdict = _verdict(rule.category, rule.is_retryable)
        rows.append((number, rule.source, classes, code(rule.category.value), verdict))
    return table(("order", "exception", "classes", "category", "what happens"), rows)


def transient_errnos() -> str:
    names = sorted(errorcode[number] for number in TRANSIENT_ERRNOS)
    return table(("errors of the system that may pass",), [(", ".join(map(code, names)),)])


def _verdict(category: Category, retryable: bool) -> str:
    failure = Failure(category=category, message="", retryable=retryable)
    return "retried within the limits" if failure.may_succeed_later else "fails at once"


def backoff() -> str:
    limits = RetryOptions()
    seqs = range(4)
    rows = [(number, *(backoff_ms(limits, seq, number) for seq in seqs)) for number in (1, 2, 3, 8, 9, 10)]
    return table(("retry", *(f"seq {seq}" for seq in seqs)), rows)


def option_names() -> set[str]:
    """Every option that a kernel can be given, by walking the options themselves."""
    return set(_walk(KernelOptions(), ""))


def _walk(value: msgspec.Struct, prefix: str) -> Iterator[str]:
    for name in value.__struct_fields__:
        held = getattr(value, name)
        if isinstance(held, msgspec.Struct):
            yield from _walk(held, f"{prefix}{name}.")
        else:
            yield prefix + name
