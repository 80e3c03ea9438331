"""What a complete run leaves for the next one: what it was made of, and what it has made.

A stage whose items are made of the results of other stages has nothing to do if these results, its configuration and
its own results are what they were at the end of its last run. To compare them takes a few queries, whatever the number
of items.

The content of a store has an id, which the receipt of its stage keeps. A run that has written nothing, and that began
with the store as the receipt describes it, keeps the id; every other run gives it a new one. The store itself says
which run was the last one to write to it, by its position. So a receipt that does not match it, because a run was
interrupted or the store was replaced, is worth nothing. Neither is one of a file that has changed since.

If little has changed, a receipt also tells what: a store numbers its rows in the order in which they were written, and
the receipt of its stage names the content before, the first number of the last run, and what that run has removed. A
stage that was made of the content before finds the changes with one query.

A receipt is a cache. It may be lost at any moment; the next run then checks every item. It is not synced, so a power
loss can damage it: it is kept with a hash.
"""

import contextlib
from hashlib import blake2b

import msgspec

from inorder.errors import InorderError
from inorder.host.filesystem import SystemFilesystem, write_cache
from inorder.stage.data_layout import DataLayout
from inorder.stage.file_stat import FileStat
from inorder.stage.store.database import open_store

FORMAT = 2


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """What a complete run leaves."""

    format: int = FORMAT
    content: str
    """The id of the content of the results."""
    outputs: str
    """What identifies the results as they were at the end of the run."""
    inputs: dict[str, str] = {}
    """The ids of the contents that the plan was made of, by stage."""
    version: str = ""
    """A hash of everything else that decides which items there are, and whether they are up to date."""
    has_skipped: bool = False
    """Whether its worker has skipped an item, which counts as up to date then."""
    is_clean: bool = False
    """Whether every item is up to date now: none failed, was declined by its worker, or was removed."""
    count: int = 0
    rows: tuple[int, int, int] = (0, 0, 0)
    """The rows of the run in the manifest: first offset, end, and the checksum of the manifest up to there."""
    digest: bytes = b""
    """The digest of the plan."""
    fixed_version: str = ""
    """A hash of the part of `version` whose changes cannot be found item by item."""
    listing: str = ""
    """The hash of what the plan has listed of its items; empty: nothing."""
    gone_count: int = 0
    """The last rows of the run are of items that it has removed."""
    previous: str = ""
    """The id of the content before `content`; empty: it is not known."""
    start: int = 0
    """Rows of the store with higher numbers were written since then."""
    removed: list[str] = []
    """The items that were removed since then."""

    @property
    def kept_count(self) -> int:
        """The number of items that were not removed."""
        return self.count - self.gone_count


class _Sealed(msgspec.Struct):
    """A receipt as it is kept."""

    digest: str
    receipt: msgspec.Raw


_DECODER = msgspec.json.Decoder(Receipt)
_SEALED = msgspec.json.Decoder(_Sealed)


def read_receipt(data: str, stage: str) -> Receipt | None:
    """Read the receipt of the last run of a stage; None: there is none, or it is of another version."""
    try:
        with open(DataLayout(data, stage).receipt, "rb") as file:
            sealed = _SEALED.decode(file.read())
        found = _DECODER.decode(sealed.receipt) if sealed.digest == hash_listing(bytes(sealed.receipt)) else None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found if found is not None and found.format == FORMAT else None


def write_receipt(data: str, stage: str, receipt: Receipt) -> None:
    """Write a receipt. An error of the disk is ignored: the next run checks every item."""
    text = msgspec.json.encode(receipt)
    sealed = _Sealed(hash_listing(text), msgspec.Raw(text))
    with contextlib.suppress(OSError):
        write_cache(SystemFilesystem(), DataLayout(data, stage).receipt, msgspec.json.encode(sealed))


def identify_store(data: str, stage: str) -> str:
    """What identifies the store of a stage as it is now: the position of its last run, and the stat of its file; empty:
    there is none, or it cannot be read."""
    with contextlib.suppress(InorderError, OSError):  # the run of that stage reports it
        store = open_store(data, stage)
        if store is not None:
            position = store.read_position()
            numbers = (position.end, position.offset, position.checksum, *FileStat.read(store.path).signature)
            return " ".join(map(str, numbers))
    return ""


def read_current(data: str, stage: str) -> Receipt | None:
    """The receipt of a stage, if it describes its store as it is now."""
    receipt = read_receipt(data, stage)
    return receipt if receipt is not None and receipt.outputs == identify_store(data, stage) else None


def list_changed(data: str, stage: str, since: str, current: Receipt) -> set[str] | None:
    """The ids of results that were written or removed after the content of a store was `since`; None: they are not
    known."""
    if current.content == since:
        return set()
    store = open_store(data, stage)
    if not since or current.previous != since or store is None:
        return None
    return {*store.list_written(current.start), *current.removed}


def read_listing(data: str, stage: str) -> bytes:
    """What the plan of the last run has listed of its items; empty: nothing."""
    with contextlib.suppress(OSError), open(DataLayout(data, stage).listing, "rb") as file:
        return file.read()
    return b""


def write_listing(data: str, stage: str, listing: bytes) -> str:
    """Keep what a plan has listed of its items. Returns its hash; empty: it could not be written."""
    with contextlib.suppress(OSError):
        write_cache(SystemFilesystem(), DataLayout(data, stage).listing, listing)
        return hash_listing(listing)
    return ""


def hash_listing(listing: bytes | bytearray) -> str:
    """The hash of what a plan has listed of its items."""
    return blake2b(listing, digest_size=16).hexdigest()
