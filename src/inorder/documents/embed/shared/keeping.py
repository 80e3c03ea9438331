"""Keeps the process of the providers between the runs of a program that runs again and again, so that a model is loaded
once. A process is used again if its providers, their files and their limits are the same, and its last run was
complete."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from inorder.documents.embed.providers.registry import identity
from inorder.documents.embed.providers.server.limits import ServerLimits

from .process import ProviderProcess

_Key = tuple[tuple[tuple[str, str, str], ...], ServerLimits]


class _Keeper:
    """The one process that is kept, and the one in use."""

    def __init__(self) -> None:
        self._kept: tuple[_Key, ProviderProcess] | None = None
        self._used: tuple[_Key, ProviderProcess] | None = None

    def open(self, key: _Key, specs: Mapping[str, str], limits: ServerLimits) -> ProviderProcess:
        kept, self._kept = self._kept, None
        if kept is not None and (kept[0] != key or not kept[1].is_usable):
            kept[1].close()
            kept = None
        if self._used is not None:  # of a run that failed, and closed nothing
            self._used[1].close()
        self._used = kept or (key, ProviderProcess(specs, limits))
        return self._used[1]

    def release(self, process: ProviderProcess, *, keeps: bool) -> None:
        if self._used is not None and self._used[1] is process:
            self._kept, self._used = (self._used if keeps else None), None
        if not keeps:
            process.close()

    def close(self) -> None:
        for found in (self._kept, self._used):
            if found is not None:
                found[1].close()
        self._kept = self._used = None


_keeper: _Keeper | None = None


@contextmanager
def keep_providers() -> Iterator[None]:
    """Keep the process of the providers between the runs inside the block."""
    global _keeper
    _keeper = keeper = _Keeper()
    try:
        yield
    finally:
        _keeper = None
        keeper.close()


def open_process(specs: Mapping[str, str], limits: ServerLimits) -> ProviderProcess:
    """The process for these providers, by family: a new one, or the one that was kept."""
    if _keeper is None:
        return ProviderProcess(specs, limits)
    key = tuple((family, spec, identity(spec)) for family, spec in sorted(specs.items())), limits
    return _keeper.open(key, specs, limits)


def stop_process(process: ProviderProcess) -> None:
    """Begin to end a process that this run needs no longer, unless it is to be kept."""
    if _keeper is None:
        process.stop()


def release_process(process: ProviderProcess, *, is_complete: bool) -> None:
    """End the process, or keep it if the run was complete: one whose providers cannot be opened is not worth it."""
    if _keeper is None:
        process.close()
    else:
        _keeper.release(process, keeps=is_complete)
