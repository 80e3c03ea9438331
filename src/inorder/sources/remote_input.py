"""An object of a remote source as the input of an item. A fetcher of the caller reads it, with its limits."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from inorder.stage.inputs import AddressedInput

from .fetching import Fetcher
from .problems import RemoteProblem
from .stores import ObjectInfo, Store, forget_stores, reuse_store

GROUP_BYTES = 64 * 2**20
"""Contents that a worker process reads ahead at once."""
GROUP_ITEMS = 256


class RemoteInput(AddressedInput, frozen=True, kw_only=True):
    """An object of a remote source, in the version that the listing has shown."""

    is_local: ClassVar[bool] = False
    protocol: str
    location: str
    """What its store is opened with."""
    path: str
    """Its path in the store."""
    fingerprint: str
    """Identifies the version."""

    def fetch(self, fetcher: Fetcher) -> bytes:
        """Read the content. Raises StageError if it cannot be read, or is no longer what was listed."""
        try:
            return self._fetch(fetcher)
        except RemoteProblem as problem:
            raise problem.to_stage_error() from None

    def _fetch(self, fetcher: Fetcher) -> bytes:
        try:
            return fetcher.read(*self._locate(fetcher))
        except RemoteProblem as problem:
            if problem.kind != "changed" or self.protocol != "zip":
                raise
        forget_stores()  # the archive that this process has open may be an older one
        return fetcher.read(*self._locate(fetcher))

    def fetch_head(self, fetcher: Fetcher, count: int) -> bytes:
        """Read the first bytes of the content. Raises as `fetch` does."""
        try:
            return fetcher.read_head(*self._locate(fetcher), count)
        except RemoteProblem as problem:
            raise problem.to_stage_error() from None

    def _locate(self, fetcher: Fetcher) -> tuple[Store, ObjectInfo, str]:
        store = reuse_store(self.protocol, self.location, fetcher.limits)
        return store, ObjectInfo(self.path, self.size, self.fingerprint), self.address


def count_group(inputs: Sequence[RemoteInput | None]) -> int:
    """How many of these inputs are read at once: those that are remote, up to a number of bytes. None: another one."""
    size = 0
    for number, each in enumerate(inputs[:GROUP_ITEMS]):
        size += 0 if each is None else max(0, each.size)
        if number and (each is None or size > GROUP_BYTES):
            return number
        if each is None:
            return 1
    return min(len(inputs), GROUP_ITEMS)


def read_group(inputs: Iterable[RemoteInput | None], fetcher: Fetcher) -> None:
    """Read these inputs at once. The fetcher keeps them until they are read one by one."""
    fetcher.read_ahead([each._locate(fetcher) for each in inputs if each is not None])
