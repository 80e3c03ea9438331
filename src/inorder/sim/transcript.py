"""A run as readable text."""

from collections.abc import Sequence

from inorder.core.commands import (
    Command,
    CommitRun,
    Dispatch,
    Ended,
    Reclaimed,
    RetryScheduled,
    StopWorker,
    WindowOpened,
    WindowSealed,
)
from inorder.core.events import Envelope, Event, Finished, Planned, WorkerLost
from inorder.core.transitions import State

Step = tuple[int, Event, Sequence[Command] | None]


def format_log(log: Sequence[Step]) -> list[str]:
    """Format the log, one line per event and per command."""
    return [line for step in log for line in _format_step(step)]


def _format_step(step: Step) -> list[str]:
    now_ms, event, commands = step
    first = f"{now_ms:>9} ms  {format_event(event)}"
    if commands is None:
        return [first, " " * 14 + "! the kernel aborted"]
    return [first, *(" " * 14 + "> " + format_command(command) for command in commands)]


def format_event(event: Event) -> str:
    """Format one event."""
    if isinstance(event, Planned):
        ids = ", ".join(item.item_id for item in event.items)
        return f"planned {len(event.items)}: {ids}" + (" (end of the plan)" if event.ended else "")
    if isinstance(event, Finished):
        return f"worker {event.worker} finished " + ", ".join(map(_format_envelope, event.envelopes))
    if isinstance(event, WorkerLost):
        running = "" if event.running_seq is None else f" on seq {event.running_seq}"
        return f"worker {event.worker} {event.cause.value}{running}"
    return _format_fields(event)


def format_command(command: Command) -> str:
    """Format one command."""
    if isinstance(command, Dispatch):
        attempts = ", ".join(f"{seq}#{attempt}" for seq, attempt in zip(command.seqs, command.attempts, strict=True))
        alone = " alone" if command.isolated else ""
        return f"dispatch {attempts} to worker {command.worker}{alone}, {command.share_bytes} B reserved per item"
    if isinstance(command, CommitRun):
        return f"commit {command.start} to {command.end - 1}: " + ", ".join(map(_format_envelope, command.envelopes))
    if isinstance(command, WindowSealed):
        record = command.record
        oversize = ", oversize" if record.oversize else ""
        return f"seal window {record.id}: seqs {record.start} to {record.end}{oversize}"
    if isinstance(command, WindowOpened):
        return f"open window {command.id} at seq {command.start} for {command.target_entries}"
    if isinstance(command, RetryScheduled):
        return f"retry {command.seq} after attempt {command.attempt} at {command.due_ms} ms"
    if isinstance(command, Reclaimed):
        suspected = ", suspected" if command.suspected else ""
        return f"reclaim {command.seq}#{command.attempt} from worker {command.worker}{suspected}: {command.reason}"
    if isinstance(command, StopWorker):
        return f"stop worker {command.worker}: {command.reason}"
    if isinstance(command, Ended):
        return f"end of the run: {command.summary}"
    return _format_fields(command)


def _format_envelope(envelope: Envelope) -> str:
    outcome = State(envelope.outcome).name.removeprefix("TERMINAL_").lower()
    return f"{envelope.seq}#{envelope.attempt} {outcome} {envelope.payload_bytes} B"


def _format_fields(value: Event | Command) -> str:
    fields = " ".join(f"{name}={getattr(value, name)!r}" for name in value.__struct_fields__)
    return f"{type(value).__name__} {fields}".rstrip()
