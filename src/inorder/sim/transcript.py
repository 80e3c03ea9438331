"""A run as readable text."""

from collections.abc import Sequence

from inorder.core.commands import Command
from inorder.core.events import Envelope, Event
from inorder.core.transitions import State
from inorder.core.windows.plan import PlanItem

Step = tuple[int, Event, Sequence[Command] | None]


def format_log(log: Sequence[Step]) -> list[str]:
    """Format the log, one line per event and per command."""
    return [line for step in log for line in _format_step(step)]


def _format_step(step: Step) -> list[str]:
    now_ms, event, commands = step
    first = f"{now_ms:>9} ms  {format_fields(event)}"
    if commands is None:
        return [first, " " * 14 + "! the kernel aborted"]
    return [first, *(" " * 14 + "> " + format_fields(command) for command in commands)]


def format_fields(value: Event | Command) -> str:
    """Format one event or command: its name, and its fields that are not empty."""
    fields = {name: getattr(value, name) for name in value.__struct_fields__}
    shown = (f"{name}={_format(each)}" for name, each in fields.items() if each not in (None, "", [], {}))
    return " ".join([type(value).__name__, *shown])


def _format(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_format, value))}]"
    if isinstance(value, PlanItem):
        return value.item_id
    if isinstance(value, Envelope):
        outcome = State(value.outcome).name.removeprefix("TERMINAL_").lower()
        return f"{value.seq}#{value.attempt} {outcome} {value.payload_bytes} B"
    return repr(value)
