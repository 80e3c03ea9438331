"""A journal as a hexdump with every byte accounted for."""

from collections.abc import Iterator
from itertools import chain

import msgspec

from inorder.core.options import KernelOptions, RetryOptions
from inorder.journal.frame import RecordType
from inorder.journal.records import Header, Record
from inorder.journal.scan import scan
from inorder.sim.disk.disk import Disk
from inorder.sinks.manifest import ManifestSink
from tests.journal.jobs import PATH, Session, row

SCRIPT = ("s", "rs", "k", "f")
"""The job of the page: a success, a success at the second attempt, a skip, a failure."""
HEX_COLUMNS = 8


def example() -> bytes:
    """The journal of the page: a real one, of a job with one sink."""
    disk = Disk()
    header = Header("run 7", "", "c0ffee", ["rows"], 946_684_800_000)
    kernel = KernelOptions(retry=RetryOptions(retries_max=1, backoff_ms=0))
    sinks = [ManifestSink(disk, "rows.jsonl", row, name="rows")]
    Session(disk, SCRIPT, kernel=kernel, header=header, sinks=sinks).run()
    return disk.read(PATH)


def dump(data: bytes) -> str:
    """Every record of it, every field of every record."""
    found = scan(data).records
    lines = (_record(data[each.offset : each.end], each.record, each.offset, each.end) for each in found)
    return "\n".join(chain.from_iterable(lines))


def _record(data: bytes, record: Record, offset: int, end: int) -> Iterator[str]:
    kind = RecordType(data[2])
    body = data[9:-4]
    yield f"byte {offset}: {kind.name.lower()}"
    yield from _lines(data[0:1], "magic")
    yield from _lines(data[1:2], f"format version {data[1]}")
    yield from _lines(data[2:3], f"type {kind.value}")
    yield from _lines(data[3:5], "check of the head")
    yield from _lines(data[5:9], f"a body of {len(body)} bytes")
    yield from _body(record, body)
    yield from _lines(data[-4:], "checksum")
    yield ""


def _body(record: Record, body: bytes) -> Iterator[str]:
    names = record.__struct_fields__
    yield from _lines(body[:1], f"array of {len(names)}")
    place = 1
    for name in names:
        value = getattr(record, name)
        field = msgspec.msgpack.encode(value)
        if body[place : place + len(field)] != field:
            raise AssertionError(f"{name} is not written as {field.hex()}")
        yield from _lines(field, f"{name} = {_shown(value)}")
        place += len(field)
    if place != len(body):
        raise AssertionError(f"{len(body) - place} bytes are left over")


def _shown(value: object) -> str:
    plain = msgspec.to_builtins(value, builtin_types=(bytes,), str_keys=False)
    return plain.hex(" ") or "nothing" if isinstance(plain, bytes) else repr(plain)


def _lines(data: bytes, meaning: str) -> Iterator[str]:
    for start in range(0, len(data), HEX_COLUMNS):
        shown = data[start : start + HEX_COLUMNS].hex(" ")
        yield f"  {shown:<{3 * HEX_COLUMNS}} {meaning if start == 0 else ''}".rstrip()
