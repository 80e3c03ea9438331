"""The feed of changes: events of local folders, and listings of sources that send none.

Folders are listed again, and watched again, before a run that follows a change of folders or ignore files. A change
that no event shows (a queue that has overflowed, a network filesystem) is found by a listing every `RECHECK_MS`.
"""

import os
import threading
from collections.abc import Callable, Sequence

from inorder.host.clock import Clock
from inorder.host.inotify import find_inotify_problem

from .changes import HINTS_MAX, PATHS_MAX, SourceChanges
from .notifier import FolderNotifier
from .polling import Poll, PollableSource
from .source import RULE_FILES, LocalSource, WatchedFolder

RECHECK_MS = 15 * 60 * 1_000
"""Between two listings of sources that send events."""


class SourceFeed:
    """Watches local sources by events, or by listings if events cannot be had, and remote ones by listings. Thread-safe
    where it must be: events come from a thread."""

    def __init__(
        self,
        sources: Sequence[LocalSource],
        remotes: Sequence[PollableSource],
        clock: Clock,
        poll_ms: int,
        announce: Callable[[str], None],
        on_listed: Callable[[int | None, bool], None] = lambda next_ms, is_polling: None,
    ) -> None:
        self._sources = sources
        self._clock = clock
        self._poll_ms = poll_ms
        self._announce = announce
        self._on_listed = on_listed
        self._polls = [Poll(source, RECHECK_MS, clock) for source in sources]
        self._remote_polls = [Poll(remote, poll_ms, clock) for remote in remotes]
        self._lock = threading.Lock()
        self._arrived = threading.Event()
        self._changes = SourceChanges()
        self._folders: dict[str, list[WatchedFolder]] = {}
        self._notifier: FolderNotifier | None = None
        self._has_events = bool(sources)
        self._is_outdated = True
        """Whether the folders that are watched may not be those of the sources."""
        self._failure = ""
        """Why events cannot be had any more."""

    @property
    def is_polling(self) -> bool:
        """Whether a source is listed because it sends no events."""
        return bool(self._remote_polls) or not self._has_events

    @property
    def next_poll_ms(self) -> int | None:
        """When a source is listed next."""
        return min((poll.due_ms for poll in (*self._polls, *self._remote_polls)), default=None)

    def find_absences(self) -> list[str]:
        """Why sources cannot be read now; empty: all can."""
        found = [reason for source in self._sources if (reason := source.find_absence())]
        self._is_outdated = self._is_outdated or bool(found)
        return found

    def prepare(self) -> None:
        """Watch the folders that the sources have now."""
        for source in self._sources:
            source.adopt()
        if self._has_events and self._is_outdated:
            self._watch_folders()
        for poll in (*self._polls, *self._remote_polls):
            if poll.is_new:
                self._list(poll)

    def wait(self, timeout_ms: int) -> SourceChanges:
        """Wait for an event, at most this long, and look for changes that events do not show."""
        self._arrived.wait(timeout_ms / 1000)
        self._look()
        return self._take()

    def close(self) -> None:
        """Stop watching. Idempotent."""
        if self._notifier is not None:
            self._notifier.close()
            self._notifier = None

    def _take(self) -> SourceChanges:
        with self._lock:
            self._arrived.clear()
            taken, self._changes = self._changes, SourceChanges()
        return taken

    def _add(
        self, count: int, paths: Sequence[str], *, outdates: bool = False, hints: frozenset[str] | None = None
    ) -> None:
        """Add changes. `hints` are all paths at which something has changed; None: they are not known."""
        with self._lock:
            known = None if hints is None or len(hints) > HINTS_MAX else hints
            self._changes = self._changes.add(SourceChanges(count, tuple(paths[:PATHS_MAX]), known))
            self._is_outdated = self._is_outdated or outdates
            self._arrived.set()

    def _look(self) -> None:
        """Find what events do not show: a source that was replaced, and the listings that are due."""
        if self._failure:
            self._fall_back(self._failure)
            self._add(1, [])  # events may have been lost
        for source in self._sources:
            if source.is_replaced and not source.find_absence():
                source.adopt()
                self._add(1, [source.address], outdates=True)
        for poll in (*self._polls, *self._remote_polls):
            is_due = self._clock.now_ms() >= poll.due_ms
            if is_due and not poll.source.find_absence() and self._list(poll):
                self._add(1, [poll.source.address], outdates=True)

    def _list(self, poll: Poll) -> bool:
        """List a source. Returns whether it has changed. A problem is announced once."""
        before = poll.problem
        is_changed = poll.look()
        if poll.problem and poll.problem != before:
            self._announce(poll.problem)
        self._on_listed(self.next_poll_ms, self.is_polling)
        return is_changed

    def _watch_folders(self) -> None:
        self._is_outdated = False
        folders: dict[str, list[WatchedFolder]] = {}
        for source in self._sources:
            for folder in source.list_folders():
                folders.setdefault(folder.path, []).append(folder)
        before = self._notifier
        self._folders = folders
        try:
            self._notifier = FolderNotifier(list(folders), self._on_paths, self._on_failure)
        except OSError as error:
            self._fall_back(find_inotify_problem("/") or str(error))
            return
        finally:
            if before is not None:  # closed after the new one is there, so that no event falls between them
                before.close()
        if problem := find_inotify_problem(next(iter(folders), "/")):
            self._fall_back(problem)

    def _fall_back(self, problem: str) -> None:
        """List the sources from now on, because events cannot be had."""
        self.close()
        self._failure, self._has_events = "", False
        self._polls = [Poll(source, self._poll_ms, self._clock) for source in self._sources]
        self._announce(f"{problem}; the sources are listed every {self._poll_ms / 1000:g} s instead")

    def _on_failure(self, problem: str) -> None:
        self._failure = problem
        self._arrived.set()

    def _on_paths(self, paths: Sequence[str]) -> None:
        """Called by the thread of the notifier."""
        counted, outdates = [], False
        for path in paths:
            folder, name = os.path.split(path)
            is_folder = path in self._folders or os.path.isdir(path)
            watched = self._folders.get(folder, ())
            if path in self._folders or any(each.counts(name, is_folder) for each in watched):
                counted.append(path)
                outdates = outdates or is_folder or name in RULE_FILES
        if counted:
            self._add(len(counted), counted, outdates=outdates, hints=frozenset(counted))
