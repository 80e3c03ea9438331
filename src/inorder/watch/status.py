"""The state of a watch, in a small file of DATA: for reports, pages and metrics.

The watch holds a lock while it runs. If the lock is free and the file does not say `ended`, the watch was killed.
"""

import contextlib
import os
import platform

import msgspec

from inorder.errors import BusyError, InfrastructureError
from inorder.host.clock import Clock
from inorder.host.filesystem import Filesystem, write_atomic
from inorder.host.liveness import is_held
from inorder.host.lock import Lock
from inorder.host.os_errors import translate_os_errors
from inorder.host.regular_file import read_regular
from inorder.host.spelling import encode_spelled

from .changes import SourceChanges
from .contracts import RunResult

STATES = {
    "watching": "it waits for changes",
    "running": "a run is under way",
    "waiting": "a source is missing; nothing is run until it is back",
    "retrying": "a run failed, and is repeated",
    "ended": "it was stopped, and said so",
    "killed": "it ended without a word: its process was killed, or the machine went down",
}
_WRITE_MS = 1_000
"""Between two writes that tell of nothing but more changes."""
_ENCODER = msgspec.json.Encoder()


class WatchedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a watch that has ended."""

    number: int
    ended_ms: int
    duration_ms: int
    exit_code: int


class WatchStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What a watch does, and what it has seen. Times are milliseconds since 1970."""

    pid: int
    host: str
    since_ms: int
    sources: list[str]
    state: str = "running"
    """See `STATES`."""
    is_polling: bool = False
    """Whether a source is listed, because it sends no events."""
    pending_changes: int = 0
    last_change_ms: int | None = None
    last_run: WatchedRun | None = None
    next_poll_ms: int | None = None
    next_retry_ms: int | None = None
    last_error: str = ""
    last_error_ms: int | None = None
    ended_ms: int | None = None

    @property
    def is_alive(self) -> bool:
        """Whether changes are followed by runs."""
        return self.state not in ("ended", "killed")


class WatchPlace:
    """The lock and the status file of the watch of one DATA."""

    def __init__(self, data: str) -> None:
        self._data = data
        self._folder = os.path.join(os.path.abspath(data), "locks")
        # Names of stages do not begin with a dot.
        self.lock_path = f"{self._folder}/.watch.lock"
        self.path = f"{self._folder}/.watch.json"

    def lock(self) -> Lock:
        """Keep other watches from this DATA. Raises `BusyError` if there is one."""
        with translate_os_errors(f"{self._data} cannot be used"):
            os.makedirs(self._folder, exist_ok=True)
        try:
            return Lock(self.lock_path, self._data)
        except BusyError as error:
            raise BusyError(str(error).replace("is in use by", "is watched already by", 1)) from None

    def read(self) -> WatchStatus | None:
        """What the watch says, or the last one said; None: there was none."""
        try:
            found = msgspec.json.decode(read_regular(self.path), type=WatchStatus)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return None
        if found.is_alive and not is_held(self.lock_path):
            return msgspec.structs.replace(found, state="killed")
        return found


class StatusWriter:
    """Follows a watch, and writes its status. A write error is ignored: the watch does not depend on it."""

    def __init__(self, place: WatchPlace, filesystem: Filesystem, clock: Clock, sources: list[str]) -> None:
        self._path = place.path
        self._filesystem = filesystem
        self._clock = clock
        self._written_ms = 0
        self._status = WatchStatus(
            pid=os.getpid(), host=platform.node(), since_ms=clock.wall_ms(), sources=sources, state="running"
        )

    def on_changes(self, changes: SourceChanges) -> None:
        """Changes are pending."""
        is_first = not self._status.pending_changes
        self._set(pending_changes=changes.count, last_change_ms=self._clock.wall_ms())
        if is_first or self._clock.now_ms() - self._written_ms >= _WRITE_MS:
            self._write()

    def on_run_started(self, number: int, changes: SourceChanges) -> None:
        """A run has started."""
        self._write(state="running", pending_changes=0, next_retry_ms=None)

    def on_run_ended(self, number: int, result: RunResult, duration_ms: int) -> None:
        """A run has ended."""
        run = WatchedRun(
            number=number, ended_ms=self._clock.wall_ms(), duration_ms=duration_ms, exit_code=result.exit_code
        )
        self._write(state="watching", last_run=run)

    def on_waiting(self, reason: str) -> None:
        """Sources are missing, or are there again."""
        if reason:
            self._write(state="waiting", last_error=reason, last_error_ms=self._clock.wall_ms())
        else:
            self._write(state="watching")

    def on_retry(self, problem: str, wait_ms: int) -> None:
        """A run failed, and is repeated."""
        now_ms = self._clock.wall_ms()
        self._write(state="retrying", last_error=problem, last_error_ms=now_ms, next_retry_ms=now_ms + wait_ms)

    def on_listed(self, next_poll_ms: int | None, is_polling: bool) -> None:
        """The sources were listed, and are listed again at this time of the clock."""
        offset_ms = self._clock.wall_ms() - self._clock.now_ms()
        self._write(next_poll_ms=None if next_poll_ms is None else next_poll_ms + offset_ms, is_polling=is_polling)

    def end(self, problem: str = "") -> None:
        """The watch ends, by a signal or because of a problem."""
        now_ms = self._clock.wall_ms()
        error = {"last_error": problem, "last_error_ms": now_ms} if problem else {}
        self._write(state="ended", pending_changes=0, ended_ms=now_ms, next_poll_ms=None, next_retry_ms=None, **error)

    def _set(self, **fields: object) -> None:
        self._status = msgspec.structs.replace(self._status, **fields)

    def _write(self, **fields: object) -> None:
        self._set(**fields)
        self._written_ms = self._clock.now_ms()
        with contextlib.suppress(OSError, InfrastructureError):
            write_atomic(self._filesystem, self._path, encode_spelled(_ENCODER, self._status))
