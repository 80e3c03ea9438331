"""Tables of the page on the journal: records and options as the code declares them, the rest as journals are seen to
behave."""

import inspect
from collections.abc import Callable
from functools import cache

import msgspec

from inorder.core import resume_point as resume_point_module
from inorder.errors import InfrastructureError, IntegrityError, OperatorError
from inorder.journal import records as records_module
from inorder.journal import writer as writer_module
from inorder.journal.frame import RecordType, encode_frame
from inorder.journal.records import Header, Terminal, WindowRecord, encode_record
from inorder.journal.replay import FAIL, SKIP, CorruptRecord, replay
from inorder.journal.scan import ScanVerdict, scan
from inorder.journal.writer import FSYNC_POLICIES
from inorder.runtime.recovery import create_journal, resume_journal
from inorder.sim.disk.disk import Disk
from inorder.sim.disk.operations import DiskFaults
from tests.journal.jobs import HEADER, PATH, Session, journal_of, sinks_on
from tests.journal.witness import acts_under
from tests.specs.declared import fields_of
from tests.specs.pages import code, table


def records() -> str:
    rows = []
    for kind, type_ in records_module._TYPES.items():
        fields = ", ".join(code(field.name) for field in fields_of(records_module, kind.__name__))
        rows.append((type_.value, code(type_.name.lower()), fields, _summary(kind)))
    return table(("type", "record", "fields", "meaning"), rows)


def _summary(kind: type[msgspec.Struct]) -> str:
    return " ".join((inspect.getdoc(kind) or "").split())


def options() -> str:
    fields = fields_of(writer_module, "JournalOptions")
    rows = [(code(field.name), code(field.default), field.meaning) for field in fields]
    return table(("option", "default", "reason"), [row for row in rows if row[0] != "`fsync`"])


def resume_point() -> str:
    fields = fields_of(resume_point_module, "ResumePoint")
    return table(("field", "type", "meaning"), [(code(each.name), code(each.type), each.meaning) for each in fields])


# When the disk is waited for


def policies() -> str:
    rows = []
    for fsync in FSYNC_POLICIES:
        run, due = acts_under(fsync)
        rows.append((code(fsync), _told(run), _told(due[len(run) :]) or "nothing"))
    return table(("`fsync`", "what is done for a run, in this order", "and more when a checkpoint is due"), rows)


def _told(acts: list[str]) -> str:
    words = {
        "journal: terminal": "outcomes written",
        "journal: commit": "commit written",
        "journal: checkpoint": "checkpoint written",
        "journal: sync": "**journal synced**",
        "rows: sync": "**sinks synced**",
        "files: sync": "",
    }
    told = [words.get(act, "applied to every sink" if act.startswith("rows") else "") for act in acts]
    return ", ".join(each for each in told if each)


# What a damaged journal is worth


@cache
def _journal() -> bytes:
    """Of a run that died: the latest commit is not synced, and all before it is."""
    return journal_of(dies_at=44)


def _flipped(place: int) -> bytes:
    data = bytearray(_journal())
    data[place] ^= 1
    return bytes(data)


def _other_outcome() -> Terminal:
    """Of a seq that has one."""
    told = replay(scan(_journal()).records).terminals[0]
    return Terminal(told.start, bytes([SKIP if told.outcomes[0] == FAIL else FAIL]))


def verdicts() -> str:
    data = _journal()
    found = scan(data).records
    first, middle, last = found[0], found[8], found[-1]
    header = encode_record(HEADER)
    cases: list[tuple[str, bytes]] = [
        ("nothing", data),
        ("cut between two records", data[: last.offset]),
        ("cut within the last record", data[:-1]),
        ("zeros after the last record", data + bytes(512)),
        ("a bit of the last record flipped", _flipped(last.end - 5)),
        (
            "a good record after a broken one, none of it synced",
            _flipped(last.end - 5) + encode_record(WindowRecord(9, 63, 7)),
        ),
        ("a bit flipped in what a later commit says was synced", _flipped(middle.offset + 9)),
        ("zeros in its place", data[: middle.offset] + bytes(middle.end - middle.offset) + data[middle.end :]),
        ("a bit of the header flipped", _flipped(first.end - 5)),
        ("a bit of the first checkpoint flipped", _flipped(found[1].end - 5)),
        ("cut after the header", header),
        ("empty", b""),
        ("a different file", b"a text file\n"),
        ("a record of another format version", data + encode_frame(RecordType.WINDOW, b"", 2)),
        ("a record of a type that is not known", data + encode_frame(9, b"")),
        ("a complete record with an invalid body", data + encode_frame(RecordType.COMMIT, b"")),
        ("a second, different outcome for a seq", data + encode_record(_other_outcome())),
        ("outcomes that leave a gap", data + encode_record(Terminal(99, bytes([FAIL])))),
    ]
    return table(("what has happened", "verdict", "the next run"), [(label, *_judged(data)) for label, data in cases])


def _judged(data: bytes) -> tuple[str, str]:
    found = scan(data)
    if not found.is_usable:
        return found.verdict.value, "refuses it"
    try:
        replay(found.records)
    except CorruptRecord:
        return ScanVerdict.CORRUPT.value, "refuses it"
    return (
        found.verdict.value,
        "resumes" if found.verdict is ScanVerdict.CLEAN else "truncates it there, warns, and resumes",
    )


# Who is told what


def errors() -> str:
    rows = []
    for label, provoke in (
        ("another plan", lambda disk: _resumed(disk, plan_hash="another")),
        ("another configuration", lambda disk: _resumed(disk, config_hash="another")),
        ("other sinks", lambda disk: resume_journal(disk, PATH, Header("", "of this plan", "so configured"), ())),
        ("a plan shorter than what is committed", lambda disk: Session(disk, "sss").run()),
        ("damage before the tail", _with_damage),
        ("a sink that holds no journaled position", _with_a_lost_sink),
        ("a journal that cannot be read", _unreadable),
        ("a journal that cannot be created", _unwritable),
        ("a write or a sync that fails later", _poisoned),
    ):
        rows.append((label, *_caught(provoke)))
    return table(("situation", "error", "exit code"), rows)


def _caught(provoke: Callable[[Disk], object]) -> tuple[str, int]:
    disk = Disk()
    Session(disk, dies_at=30).run()
    disk.kill()
    try:
        provoke(disk)
    except (OperatorError, IntegrityError, InfrastructureError) as error:
        return code(type(error).__name__), error.exit_code
    raise AssertionError("nothing was said")


def _resumed(disk: Disk, **change: str) -> None:
    resume_journal(disk, PATH, msgspec.structs.replace(HEADER, **change), sinks_on(disk))


def _cut(disk: Disk, path: str, data: bytes) -> None:
    file = disk.open(path)
    file.truncate(0)
    file.append(data)
    file.close()


def _with_damage(disk: Disk) -> None:
    data = bytearray(disk.read(PATH))
    data[200] ^= 1
    _cut(disk, PATH, bytes(data))
    _resumed(disk)


def _with_a_lost_sink(disk: Disk) -> None:
    Session(disk).run()
    _cut(disk, "manifest.jsonl", b"")
    _resumed(disk)


def _unreadable(disk: Disk) -> None:
    sinks = sinks_on(disk)
    disk.faults = DiskFaults(fail_reads_at=dict.fromkeys(range(99), 5))
    resume_journal(disk, PATH, HEADER, sinks)


def _unwritable(disk: Disk) -> None:
    disk.faults = DiskFaults(capacity_bytes=1)
    create_journal(disk, "another.journal", Header("", "", ""), ())


def _poisoned(disk: Disk) -> None:
    opened = create_journal(disk, "another.journal", Header("", "", ""), ())
    disk.faults = DiskFaults(capacity_bytes=1)
    opened.writer.append(WindowRecord(0, 0, 4))
