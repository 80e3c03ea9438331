"""Compares the files of a run with those of the last one, while they are walked.

A listing has eight bytes per file, in the order of the walk: a digest of its id, its path and its stat. A file whose
digest is the next one of the last listing has not changed. If it is not, but one of those that follow soon, the files
between them have changed or are gone. Otherwise the file itself has changed, or is new. So a mistake is possible in one
direction only: a file that has not changed is checked.

The files of a folder are a batch, which has a digest of its own: if that is the next one of the last listing, too, no
file of the batch has changed. Of a batch with a change, the files are compared one by one.
"""

import os
import struct
from bisect import bisect_left
from collections.abc import Collection, Iterator, Set
from contextlib import closing, suppress
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from inorder.documents.discovery import DocumentFile, FileBatch
from inorder.errors import InorderError
from inorder.stage.contracts import LastRun
from inorder.stage.fingerprints import hash_file
from inorder.stage.store.database import StoreReader, store_path
from inorder.stage.unchanged.receipt import hash_listing

_DIGEST_BYTES = 8
_UNKNOWN = bytes(_DIGEST_BYTES)
_NEAR = 1024
"""How many files of the last listing are searched for a file that is not the next one."""
_LOST = 64
"""After this many files in a row that were not found, the whole rest of the last listing is searched; then after twice
as many, and so on."""
_UNMATCHED_MAX = 20_000
"""If more files have changed or are new, they are not kept: all files are checked then. Each takes half a kilobyte."""


_BATCH = struct.Struct(f"<I{_DIGEST_BYTES}s")
"""The number of files of a batch, and its digest."""


class ListingRecord(msgspec.Struct, array_like=True):
    """A listing as it is kept."""

    digests: bytes
    apart: list[int]
    """The numbers of files whose items do not have the place of the file in the plan."""
    batches: bytes = b""
    """For each batch of files, their number and a digest of all of them; files between two batches are a batch without
    a digest."""


_DECODER = msgspec.msgpack.Decoder(ListingRecord)


class _KnownBatch(NamedTuple):
    """A batch of the last listing."""

    start: int
    """The offset of the digest of its first file."""
    digest: bytes


def _list_batches(record: ListingRecord) -> Iterator[_KnownBatch]:
    """The batches with a digest. A record that does not fit the listing has none."""
    start = 0
    if len(record.batches) % _BATCH.size:
        return
    for count, digest in _BATCH.iter_unpack(record.batches):
        end = start + count * _DIGEST_BYTES
        if digest != _UNKNOWN and end <= len(record.digests):
            yield _KnownBatch(start, digest)
        start = end


class FileListing:
    """The digests of files."""

    def __init__(self) -> None:
        self.digests = bytearray()
        self.apart: list[int] = []
        self.is_racy = False
        """Whether a file may change without a change of its stat. It has no digest."""
        self._batches = bytearray()
        self._batched_count = 0
        """The files up to the end of the last batch."""

    def add(self, file: DocumentFile) -> bytes:
        """Add a file. Returns its digest."""
        found = file.stat
        if found is not None and found.is_racy:
            self.is_racy = True
            digest = _UNKNOWN
        else:
            state = file.source.sha256 if file.source is not None else None if found is None else found.signature
            text = f"{file.item_id}\n{file.path}\n{file.problem}\n{state}"
            digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()
        self.digests += digest
        return digest

    def end_batch(self, count: int, digest: bytes) -> None:
        """Note that the last files that were added are a batch with this digest."""
        between = len(self) - count - self._batched_count
        if between:
            self._batches += _BATCH.pack(between, _UNKNOWN)
        self._batches += _BATCH.pack(count, digest)
        self._batched_count = len(self)

    def mark_apart(self) -> None:
        """Note that the item of the last file has another place in the plan."""
        self.apart.append(len(self) - 1)

    def __len__(self) -> int:
        return len(self.digests) // _DIGEST_BYTES

    def encode(self) -> bytes:
        """Encode it as a `ListingRecord`, without a copy of the digests."""
        return msgspec.msgpack.encode((self.digests, self.apart, self._batches))


def hash_batch(batch: FileBatch) -> bytes:
    """The digest of all files of a batch, unless one of them is racy."""
    if batch.is_racy:
        return _UNKNOWN
    return blake2b(batch.describe(), digest_size=_DIGEST_BYTES).digest()


class ListingComparison:
    """The files of a run, compared with those of the last one."""

    def __init__(self, last: bytes) -> None:
        try:
            record = _DECODER.decode(last)
        except msgspec.DecodeError:
            record = ListingRecord(b"", [])
        self._last_hash = hash_listing(last)
        self.listing = FileListing()
        self._first: DocumentFile | None = None
        """The first unmatched file."""
        self._unmatched: list[tuple[int, DocumentFile]] = []
        self._dropped: list[range] = []
        self.is_exceeded = False
        """Whether there are many unmatched files, or more than half of those of the last run. They are not kept."""
        self._unmatched_max = min(len(record.digests) // _DIGEST_BYTES // 2, _UNMATCHED_MAX)
        self._batches = _list_batches(record)
        self._next_batch = next(self._batches, None)
        self._last = record.digests
        self._last_apart = record.apart
        self._apart_numbers = frozenset(record.apart)
        self._at = 0
        """The offset in the last listing of the next digest."""
        self._lost = 0

    def add(self, found: FileBatch | DocumentFile) -> bool:
        """Compare the next file or files. Returns whether none of them has changed."""
        if isinstance(found, DocumentFile):
            return self._add_file(found)
        digest = hash_batch(found)
        if self._skip_batch(found, digest):
            return True
        are_same = [self._add_file(file) for file in found]
        self.listing.end_batch(len(found), digest)
        return all(are_same)

    def _add_file(self, file: DocumentFile) -> bool:
        digest = self.listing.add(file)
        at = self._at
        if self._last[at : at + _DIGEST_BYTES] != digest or digest == _UNKNOWN:
            found = -1 if digest == _UNKNOWN else self._search(digest)
            if found < 0:
                self._add_unmatched(file)
                return False
            self._drop_until(found)
            at = found
        if self._apart_numbers and at // _DIGEST_BYTES in self._apart_numbers:
            self.listing.mark_apart()
        self._at = at + _DIGEST_BYTES
        self._lost = 0
        return True

    def _skip_batch(self, batch: FileBatch, digest: bytes) -> bool:
        """Take in the next files as unchanged, if they were a batch with this digest. Returns whether they were."""
        while self._next_batch is not None and self._next_batch.start < self._at:
            self._next_batch = next(self._batches, None)
        known, start = self._next_batch, self._at
        if known is None or (known.start, known.digest) != (start, digest):
            return False
        first, count = len(self.listing), len(batch)
        self._at = start + count * _DIGEST_BYTES
        self.listing.digests += self._last[start : self._at]
        number = start // _DIGEST_BYTES
        apart = self._last_apart[slice(*(bisect_left(self._last_apart, at) for at in (number, number + count)))]
        self.listing.apart += [first + each - number for each in apart]
        self.listing.end_batch(count, digest)
        self._lost = 0
        return True

    def has_other_content(self, data: str, stage: str) -> bool:
        """Whether the first unmatched file is new for certain, or has another content than the stage has read. Its stat
        may have changed without that. False also if it is not known."""
        file, path = self._first, store_path(data, stage)
        if file is None or file.problem or file.source is not None or not os.path.exists(path):
            return False
        with suppress(OSError, InorderError), closing(StoreReader(path)) as store:
            known = store.get(file.item_id)
            return known is None or known.input_sha256 != hash_file(file.path)
        return False

    def finish(self) -> None:
        """Every file was added."""
        self._drop_until(len(self._last))

    def follows(self, last: bytes) -> bool:
        """Whether the files were compared with this listing, and few of them have changed."""
        return not self.is_exceeded and self._last_hash == hash_listing(last)

    def list_dropped(self) -> set[int] | None:
        """The numbers of the items of the last run whose files have changed or are gone; None: the item of one of these
        files does not have the place of the file."""
        numbers = {number for each in self._dropped for number in each}
        return {self._count_before(number) for number in numbers} if self._apart_numbers.isdisjoint(numbers) else None

    def list_unmatched(self) -> list[tuple[int, DocumentFile]]:
        """The files that have changed or are new, each with the number of the item of the last run before which it
        comes."""
        return [(self._count_before(number), file) for number, file in self._unmatched]

    def _count_before(self, number: int) -> int:
        """The number of the item of the last run that has the place of a file."""
        return number - bisect_left(self._last_apart, number)

    def _add_unmatched(self, file: DocumentFile) -> None:
        self._lost += 1
        self._first = self._first or file
        if len(self._unmatched) == self._unmatched_max:
            self.is_exceeded = True
            self._unmatched.clear()
        if not self.is_exceeded:
            self._unmatched.append((self._at // _DIGEST_BYTES, file))

    def _drop_until(self, offset: int) -> None:
        if offset > self._at:
            self._dropped.append(range(self._at // _DIGEST_BYTES, offset // _DIGEST_BYTES))
            self._at = offset

    def _search(self, digest: bytes) -> int:
        """The offset at which a digest is in the rest of the last listing; -1: it was not found."""
        is_lost = self._lost >= _LOST and self._lost & (self._lost - 1) == 0
        end = len(self._last) if is_lost else self._at + _NEAR * _DIGEST_BYTES
        found = self._last.find(digest, self._at, end)
        while found >= 0 and found % _DIGEST_BYTES:
            found = self._last.find(digest, found + 1, end)
        return found


def list_dropped_ids(last: LastRun, dropped: Set[int], present: Set[str], store: StoreReader | None) -> Collection[str]:
    """The ids of the items of the last run with these numbers. `present` are the ids of the files that have changed or
    are new. If as many items are dropped, and the last run had all of these ids, they are the same, and no row of the
    last run is read: every item of it has its result in the store, and files that have not changed have other ids."""
    if len(dropped) == len(present) and store is not None and store.count() == last.count and store.has_all(present):
        return present
    return [item_id for number, item_id in enumerate(last.read_ids()) if number in dropped] if dropped else []
