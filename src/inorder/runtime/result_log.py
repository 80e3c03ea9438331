"""The result log: results that are computed and not yet committed, on disk.

Outcomes become final in order, so everything computed behind a slow item waits for it. The journal knows nothing of
these results. The result log does: each one is appended when the kernel has accepted it, before it can be committed. A
run that resumes reads the log and adopts the results in it instead of computing them again. Partial results that items
have handed over are logged, too: the next attempt at such an item is offered the last one.

The log is a folder of segments, each a sequence of frames (`journal/frame.py`): a header that names the plan and the
configuration, then one record per result. A segment is removed when all its results are committed, so the log is no
longer than the windows of the run. It is never synced: a record that a power loss has damaged fails its checksum, and
its item is computed again. The last record of a seq counts.

A run that has the plan of the interrupted one finds results by seq. A run of a plan that is a *remainder* has another
plan: it finds them by the identity of their items, whatever their seq was. Then the segments of earlier runs stay until
a run of the plan ends, and results without an item in the plan are dropped with them.

What a result consists of, and whether it is still valid, is the business of a `ResultCodec`. No codec may unpickle what
it finds on disk.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol

import msgspec

from inorder.core.events import Envelope, HandedOver
from inorder.host.filesystem import AppendFile, Filesystem
from inorder.host.os_errors import translate_os_errors
from inorder.journal.frame import (
    BODY_BYTES_MAX,
    HEAD_BYTES,
    Fault,
    RecordFrame,
    complete_frame,
    encode_frame,
    read_frame,
)
from inorder.runtime.identity import is_plain

FORMAT_VERSION = 2
SEGMENT_SUFFIX = ".results"
SEGMENT_RECORDS_MAX = 1024
SEGMENT_BYTES_MAX = 4 * 2**20
"""A segment that has grown beyond one of these gets no further record."""
_RECORD_BYTES_MAX = BODY_BYTES_MAX // 2
_HEADER_TYPE = 64
_RESULT_TYPE = 65
_PARTIAL_TYPE = 66
_NO_OUTCOME = 0
_KEPT = 2**63 - 1
"""In place of the last seq of a segment that stays until the run ends."""


class LogHeader(msgspec.Struct, frozen=True, array_like=True):
    """The first frame of a segment. Only a run with the same plan and configuration adopts its results."""

    version: int
    run_id: str
    plan_hash: str
    config_hash: str


class ResultRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One result."""

    seq: int
    attempt: int
    retries: int
    identity: bytes
    """Hash of what must stay equal for an item to count as the same."""
    outcome: int
    """0 for a partial result."""
    exec_ms: float
    began_ms: float
    """Wall clock at its start."""
    files: list[tuple[str, str]]
    """Files of the result: the name of each in staging, and the path at which it is published."""
    payload: msgspec.Raw
    """In the encoding of the codec; of a partial result, its bytes."""


class EncodedResult(NamedTuple):
    """A result as a codec prepares it."""

    payload: Any
    """What MessagePack can encode, or else it is not stored. It is encoded once, with the rest of its record: results
    are large."""
    files: list[tuple[str, str]] = []  # noqa: RUF012
    """Files of the result: the name of each in staging, and the path at which it is published."""


class DecodedResult(NamedTuple):
    """A result that is still valid."""

    payload: Any


class ResultCodec(Protocol):
    """Encodes the results of a kind of run."""

    def identify(self, item: Any) -> bytes:
        """Return what must stay equal for an item to count as the same after a restart."""

    def encode(self, item: Any, payload: Any) -> EncodedResult | None:
        """Prepare a result; None: it cannot be stored or is not worth it, and will be computed again."""

    def decode(self, item: Any, record: ResultRecord) -> DecodedResult | None:
        """Decode a result; None: it is no longer valid."""

    def is_valid_partial(self, item: Any, partial: bytes) -> bool:
        """Whether a partial result is still valid."""


class _Location(NamedTuple):
    """Where a record is."""

    segment: str
    offset: int
    size: int


_HEADERS = msgspec.msgpack.Decoder(LogHeader)
_RECORDS = msgspec.msgpack.Decoder(ResultRecord)
_PARTIALS = msgspec.msgpack.Decoder(bytes)
_ENCODER = msgspec.msgpack.Encoder()
_encode = _ENCODER.encode


class ResultLog:
    """The results of one run and those that an interrupted run left. `folder` must exist. `by_identity`: results are
    found by the identity of their items, and not by seq."""

    def __init__(
        self,
        filesystem: Filesystem,
        folder: str,
        header: LogHeader,
        codec: ResultCodec,
        *,
        by_identity: bool = False,
    ) -> None:
        self._by_identity = by_identity
        self._filesystem = filesystem
        self._folder = folder
        self._header = header
        self._codec = codec
        self._file: AppendFile | None = None
        self._records_left = 0
        self._bytes_left = 0
        self._number = 0
        self._path = ""
        """The segment that is being written."""
        self._segments: dict[str, int] = {}
        """The last seq of every segment, by its path, oldest segment first."""
        self._found: dict[int | bytes, _Location] = {}
        """The results of the interrupted run that are not committed, by seq or identity."""
        self._found_partials: dict[int | bytes, _Location] = {}
        """The latest partial results of the same, which were not offered yet."""
        self.retries: dict[int, int] = {}
        """The retries of these results, by seq, as far as they had any."""
        self.published: dict[str, str] = {}
        """The staged name of every file of these results, by the path at which it is published."""
        self._committed_end = 0
        self._oldest_end = -1
        """No segment can be removed before more than this is committed."""
        self._adopted: set[int] = set()
        """Those of them that were adopted."""
        self.adopted_count = 0

    @property
    def found_count(self) -> int:
        """How many results of the interrupted run are not committed yet."""
        return len(self._found)

    @property
    def is_adopting(self) -> bool:
        """Whether results or partial results of the interrupted run are left."""
        return bool(self._found or self._found_partials)

    @property
    def has_uncommitted(self) -> bool:
        """Whether the log has results that are not committed."""
        return max(self._segments.values(), default=-1) >= self._committed_end

    def list_files(self) -> set[str]:
        """List the segments and the staged files of the results in them, relative to the staging area."""
        return {*(path.rpartition("/")[2] for path in self._segments), *self.published.values()}

    # ---- Reading what an interrupted run left

    def read(self) -> None:
        """Read what the interrupted run left."""
        with translate_os_errors(f"the results of the interrupted run in {self._folder} cannot be read"):
            for name in self._filesystem.list(self._folder):
                number = _parse_number(name)
                if number is not None:
                    self._number = max(self._number, number)
                    self._read_segment(f"{self._folder}/{name}")

    def _read_segment(self, path: str) -> None:
        self._segments[path] = -1
        for frame in self._iter_frames(path):
            record = _decode_record(frame)
            if record is None:
                break
            seq = record.seq
            is_result = frame.type == _RESULT_TYPE
            found = self._found if is_result else self._found_partials
            key = record.identity if self._by_identity else seq
            found[key] = _Location(path, frame.offset, frame.end - frame.offset)
            if is_result and not self._by_identity:
                self.retries[seq] = record.retries
            self.published.update((published, staged) for staged, published in record.files)
            self._segments[path] = max(self._segments[path], seq)

    def start(self, end: int | None) -> None:
        """Begin a run that resumes at `end`: results below are committed. None: it does not resume, and nothing is
        adopted. With `by_identity`, a run that adopts begins at 0."""
        if end is None:
            self._found, self._found_partials, self.retries, self.published = {}, {}, {}, {}
        self.retries = {seq: count for seq, count in self.retries.items() if count and seq >= (end or 0)}
        for path in [path for path, last_seq in self._segments.items() if end is None or last_seq < end]:
            del self._segments[path]
            with translate_os_errors(f"{path} cannot be removed"):
                self._filesystem.unlink(path)
        self._committed_end = end or 0
        if self._by_identity:
            self._segments = dict.fromkeys(self._segments, _KEPT)
            return
        for found in (self._found, self._found_partials):
            for key in [key for key in found if isinstance(key, int) and key < self._committed_end]:
                del found[key]

    def _iter_frames(self, path: str) -> Iterator[RecordFrame]:
        """Yield the frames of a segment up to the first damaged one; nothing if it is of another plan."""
        data = self._filesystem.read(path)
        first = read_frame(data, 0)
        if isinstance(first, Fault) or not self._is_same_plan(first):
            return
        offset = first.end
        while offset < len(data):
            frame = read_frame(data, offset)
            if isinstance(frame, Fault):
                return
            yield frame
            offset = frame.end

    def _is_same_plan(self, frame: RecordFrame) -> bool:
        if frame.type != _HEADER_TYPE:
            return False
        try:
            found = _HEADERS.decode(frame.body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False
        ours = self._header
        return (found.version, found.plan_hash, found.config_hash) == (
            ours.version,
            ours.plan_hash,
            ours.config_hash,
        )

    def take(self, seq: int, item: Any) -> tuple[ResultRecord, Any] | None:
        """Return the result that the interrupted run had of an item; None: it had none, or it is no longer valid."""
        if not self._found:
            return None
        identity = _hash(self._codec.identify(item))
        key = identity if self._by_identity else seq
        record = self._read_same(self._found.get(key), identity)
        decoded = None if record is None else self._codec.decode(item, record)
        if record is None or decoded is None:
            self._found.pop(key, None)
            return None
        self.adopted_count += seq not in self._adopted
        self._adopted.add(seq)
        return record, decoded.payload

    def take_partial(self, seq: int, item: Any) -> bytes | None:
        """Return the last partial result that the interrupted run had of an item, once; None: it had none, or it is no
        longer valid."""
        if not self._found_partials:
            return None
        identity = _hash(self._codec.identify(item))
        record = self._read_same(self._found_partials.pop(identity if self._by_identity else seq, None), identity)
        partial = None if record is None else _PARTIALS.decode(record.payload)
        return partial if partial is not None and self._codec.is_valid_partial(item, partial) else None

    def _read_same(self, location: _Location | None, identity: bytes) -> ResultRecord | None:
        """Read a record; None: it is missing, damaged, or of an item with another identity."""
        record = None if location is None else self._read_record(location)
        return record if record is not None and record.identity == identity else None

    def _read_record(self, location: _Location) -> ResultRecord | None:
        try:
            file = self._filesystem.open(location.segment)
            try:
                frame = read_frame(file.read(location.offset, location.size), 0)
            finally:
                file.close()
        except OSError:
            return None
        return None if isinstance(frame, Fault) else _decode_record(frame)

    # ---- Writing

    def encode(self, envelope: Envelope, item: Any, retries: int) -> bytearray | None:
        """Encode the result of an item; None: it is not stored, or was adopted and is in the log already."""
        if envelope.seq in self._adopted:
            return None
        encoded = self._codec.encode(item, envelope.payload)
        if encoded is None:
            return None
        record = (  # the fields of a `ResultRecord`
            envelope.seq,
            envelope.attempt,
            retries,
            _hash(self._codec.identify(item)),
            envelope.outcome,
            envelope.exec_ms,
            envelope.began_ms,
            encoded.files,
            encoded.payload,
        )
        try:
            return _make_frame(_RESULT_TYPE, record)
        except (TypeError, ValueError, OverflowError, RecursionError):
            return None  # no valid Unicode, beyond 64 bits, nested too deeply

    def encode_partial(self, event: HandedOver, item: Any) -> bytearray | None:
        """Encode what an item has handed over; None: it is too large to be stored."""
        identity = _hash(self._codec.identify(item))
        record = (event.seq, event.attempt, 0, identity, _NO_OUTCOME, 0.0, 0.0, (), event.partial)
        return _make_frame(_PARTIAL_TYPE, record)

    def append(self, frames: Sequence[bytes | bytearray], last_seq: int) -> None:
        """Append results, of which `last_seq` is the highest seq."""
        data = b"".join(frames)
        with translate_os_errors(f"results cannot be logged in {self._folder}"):
            if self._file is None or self._records_left <= 0 or self._bytes_left <= 0:
                self._start_segment()
            if self._file is not None:
                self._file.append(data)
        self._records_left -= len(frames)
        self._bytes_left -= len(data)
        self._segments[self._path] = max(last_seq, self._segments[self._path])

    def drop_committed(self, end: int) -> None:
        """Remove the segments whose results are all below `end`, which are committed. The one that is being written
        stays until it is full."""
        if self.is_adopting:
            for seq in range(self._committed_end, end):
                self._found.pop(seq, None)
                self._found_partials.pop(seq, None)
                self._adopted.discard(seq)
        self._committed_end = end
        if end <= self._oldest_end:
            return
        is_full = self._records_left <= 0 or self._bytes_left <= 0
        for path, last_seq in list(self._segments.items()):
            if last_seq >= end or (path == self._path and not is_full):
                continue
            del self._segments[path]
            if path == self._path:
                self.close()
            with translate_os_errors(f"{path} cannot be removed"), contextlib.suppress(FileNotFoundError):
                self._filesystem.unlink(path)
        self._oldest_end = min((last for path, last in self._segments.items() if path != self._path), default=end)

    def clear(self) -> None:
        """Remove every segment: all results are committed."""
        self.close()
        for path in self._segments:
            with contextlib.suppress(OSError):
                self._filesystem.unlink(path)
        self._segments.clear()

    def close(self) -> None:
        """Close the file. Idempotent."""
        if self._file is not None:
            self._file.close()
        self._file = None

    def _start_segment(self) -> None:
        self.close()
        self._number += 1
        self._path = f"{self._folder}/{self._number:08}{SEGMENT_SUFFIX}"
        self._file = self._filesystem.open(self._path)
        self._file.append(encode_frame(_HEADER_TYPE, _encode(self._header)))
        self._records_left, self._bytes_left = SEGMENT_RECORDS_MAX, SEGMENT_BYTES_MAX
        self._segments[self._path] = -1


def _parse_number(name: str) -> int | None:
    number = name.removesuffix(SEGMENT_SUFFIX)
    return int(number) if number != name and number.isdecimal() else None


def _make_frame(kind: int, record: tuple[Any, ...]) -> bytearray | None:
    """Encode the fields of a `ResultRecord`; None: it is too large. Raises whatever encoding raises."""
    frame = bytearray()
    _ENCODER.encode_into(record, frame, HEAD_BYTES)
    if len(frame) - HEAD_BYTES > _RECORD_BYTES_MAX:
        return None
    complete_frame(kind, frame)
    return frame


def _decode_record(frame: RecordFrame) -> ResultRecord | None:
    if frame.type not in (_RESULT_TYPE, _PARTIAL_TYPE):
        return None
    try:
        return _RECORDS.decode(frame.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def decode_seq(frame: bytes | bytearray) -> int:
    """Return the seq of a result, as `ResultLog.encode` returned it; -1: it is a partial result."""
    found = read_frame(bytes(frame), 0)
    record = None if isinstance(found, Fault) or found.type != _RESULT_TYPE else _decode_record(found)
    return -1 if record is None else record.seq


def _hash(identity: bytes) -> bytes:
    return blake2b(identity, digest_size=16).digest()


class PlainCodec:
    """Encodes results that are plain data (`is_plain`). Implements `ResultCodec`."""

    def __init__(self, identify: Callable[[Any], bytes]) -> None:
        self.identify = identify

    def encode(self, item: Any, payload: Any) -> EncodedResult | None:
        """Prepare a result, if it is plain data."""
        try:
            return EncodedResult(payload) if is_plain(payload) else None
        except RecursionError:  # nested too deeply
            return None

    def decode(self, item: Any, record: ResultRecord) -> DecodedResult | None:
        """Decode a result."""
        try:
            return DecodedResult(msgspec.msgpack.decode(record.payload))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def is_valid_partial(self, item: Any, partial: bytes) -> bool:
        """Return True: a partial result is of the same item."""
        return True
