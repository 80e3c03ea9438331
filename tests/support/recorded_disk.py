"""What a power loss can leave of files whose system calls were recorded.

Each write since the last sync of its file is kept, lost or torn, has a hole of zeros, or has a block of stale bytes.
Changes of names since the last sync of their folder are kept up to some point. A rename is kept or lost as a whole. A
folder that was created and whose name is not durable may be lost with everything in it.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

SECTOR_BYTES = 512
HOLE, STALE = -1.0, -2.0
"""Shares of a write that is kept with damage: a sector of zeros, or of what was on the disk before."""


class LostPower(NamedTuple):
    """The files that are found after a power loss."""

    moment: int
    """How many of the recorded events had happened."""
    description: str
    files: dict[str, bytes]

    def restore(self, folder: str | os.PathLike[str]) -> None:
        """Write the files into a folder."""
        for path, data in self.files.items():
            full = os.path.join(folder, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "wb") as file:
                file.write(data)


class _File:
    def __init__(self, durable: bytes = b"") -> None:
        self.durable = bytearray(durable)
        self.pending: list[tuple[Any, ...]] = []
        """Writes (offset, bytes) and truncations (size)."""

    def sync(self) -> None:
        self.durable, self.pending = self.after_power_loss(lambda: 1.0), []

    def after_power_loss(self, keep: Callable[[], float]) -> bytearray:
        """The content, of which each change is kept to the share that `keep` returns."""
        found = bytearray(self.durable)
        for change in self.pending:
            share = keep()
            if len(change) == 1:
                if share >= 1.0:
                    del found[change[0] :]
                continue
            offset, data = change
            if share < 0:
                data, share = _damage(offset, data, share), 1.0
            kept = data if share >= 1.0 else data[: int(len(data) * share) // SECTOR_BYTES * SECTOR_BYTES]
            if kept:
                found.extend(bytes(max(0, offset - len(found))))
                found[offset : offset + len(kept)] = kept
        return found


def _damage(offset: int, data: bytes, kind: float) -> bytes:
    """Replace one sector in the middle of a write."""
    middle = offset + len(data) // 2
    start = max(0, middle // SECTOR_BYTES * SECTOR_BYTES - offset)
    end = min(len(data), (middle // SECTOR_BYTES + 1) * SECTOR_BYTES - offset)
    return data[:start] + (b"\0" if kind == HOLE else b"\xa5") * (end - start) + data[end:]


class RecordedDisk:
    """Replays events of `SystemCalls`, from a disk on which `files` are durable."""

    def __init__(self, events: Sequence[tuple[Any, ...]], files: dict[str, bytes] | None = None) -> None:
        self._events = events
        self._durable = {path: _File(data) for path, data in (files or {}).items()}
        self._visible = dict(self._durable)
        self._changes: list[dict[str, _File | None]] = []
        """Changes of names that are not durable yet."""
        self._folders: set[str] = set()
        """Folders whose names are not durable yet."""

    def lose_power(
        self,
        samples: int = 3,
        seed: int = 0,
        phase: Callable[[int], object] = lambda moment: None,
        shares: Sequence[float] = (0.0, 0.5, 1.0, 1.0),
    ) -> Iterator[LostPower]:
        """Lose power before every event and after the last one: all kept, all lost, and some random states. The same
        files are found once for each value of `phase`, which is called with the moment."""
        seen = set()
        for lost in self._lose_power(samples, Random(seed), shares):
            key = (phase(lost.moment), *sorted(lost.files.items()))
            if key not in seen:
                seen.add(key)
                yield lost

    def _lose_power(self, samples: int, chance: Random, choices: Sequence[float]) -> Iterator[LostPower]:
        for moment in range(len(self._events) + 1):
            event = " ".join(map(str, self._events[moment][:2])) if moment < len(self._events) else "the end"
            yield LostPower(moment, f"{event}: all kept", self._find(len(self._changes), lambda: 1.0))
            yield LostPower(moment, f"{event}: all lost", self._find(0, lambda: 0.0))
            for number in range(samples):
                shares = [chance.choice(choices) for _ in range(1000)]
                names = chance.randint(0, len(self._changes))
                keep = iter(shares).__next__
                yield LostPower(moment, f"{event}: sample {number}", self._find(names, keep))
            if moment < len(self._events):
                self._apply(*self._events[moment])

    def _find(self, names: int, keep: Callable[[], float]) -> dict[str, bytes]:
        found: dict[str, _File | None] = dict(self._durable)
        for change in self._changes[:names]:
            found.update(change)
        lost = tuple(f"{folder}/" for folder in self._folders) if names == 0 else ()
        return {
            path: bytes(file.after_power_loss(keep))
            for path, file in found.items()
            if file is not None and not path.startswith(lost)
        }

    def _apply(self, name: str, path: str, *details: Any) -> None:
        if name == "create":
            self._change({path: _File()})
        elif name in ("append", "write", "truncate"):
            self._visible[path].pending.append(details)
        elif name == "sync":
            self._visible[path].sync()
        elif name == "unlink":
            self._change({path: None})
        elif name == "rename":
            self._change({details[0]: None, path: self._visible[details[0]]})
        elif name == "make_directory":
            self._folders.add(path)
        elif name == "sync_directory":
            self._sync_names(path)
            self._folders = {folder for folder in self._folders if (os.path.dirname(folder) or ".") != path}
        elif name == "sync_all":
            for folder in {os.path.dirname(path) or "." for change in self._changes for path in change}:
                self._sync_names(folder)
            for file in self._visible.values():
                file.sync()
            self._folders.clear()

    def _change(self, change: dict[str, _File | None]) -> None:
        self._changes.append(change)
        self._visible.update({path: file for path, file in change.items() if file is not None})

    def _sync_names(self, folder: str) -> None:
        waiting = []
        for change in self._changes:
            if any((os.path.dirname(path) or ".") == folder for path in change):
                for path, file in change.items():
                    self._durable.pop(path, None)
                    if file is not None:
                        self._durable[path] = file
            else:
                waiting.append(change)
        self._changes = waiting
