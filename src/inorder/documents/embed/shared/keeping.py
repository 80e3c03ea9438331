"""Keeps the process of the providers between the runs of a program that runs again and again, so that a model is loaded
once. A process is used again if its providers, their files and their limits are the same, and its last run was
complete."""

from collections.abc import Mapping

from inorder.documents.embed.providers.registry import identity
from inorder.documents.embed.providers.server.limits import ServerLimits

from .process import ProviderProcess

_Key = tuple[tuple[tuple[str, str, str], ...], ServerLimits]


class ProviderKeeper:
    """Keeps the process of the providers: the one that is kept, and the one in use. To be closed at the end."""

    def __init__(self) -> None:
        self._kept: tuple[_Key, ProviderProcess] | None = None
        self._used: tuple[_Key, ProviderProcess] | None = None

    def open(self, specs: Mapping[str, str], limits: ServerLimits) -> ProviderProcess:
        """Return the process for these providers, by family: a new one, or the one that was kept."""
        key = tuple((family, spec, identity(spec)) for family, spec in sorted(specs.items())), limits
        kept, self._kept = self._kept, None
        if kept is not None and (kept[0] != key or not kept[1].is_usable):
            kept[1].close()
            kept = None
        if self._used is not None:  # of a run that failed, and closed nothing
            self._used[1].close()
        self._used = kept or (key, ProviderProcess(specs, limits))
        return self._used[1]

    def release(self, process: ProviderProcess, *, keeps: bool) -> None:
        """Keep a process, or end it."""
        if self._used is not None and self._used[1] is process:
            self._kept, self._used = (self._used if keeps else None), None
        if not keeps:
            process.close()

    def close(self) -> None:
        """End both processes."""
        for found in (self._kept, self._used):
            if found is not None:
                found[1].close()
        self._kept = self._used = None
