"""The table of what is fuzzed: each reader, and each parser of what a user, a file or a client sends.

A check takes any bytes. It returns if the parser has accepted or refused them in the way that it documents; everything
else that it raises is a fault. `make fuzz` searches for faults, and `test_replay.py` repeats what it has found.
"""

import asyncio
import atexit
import contextlib
import io
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import msgspec
import numpy as np

from inorder.documents.embed.providers.base import BatchTally
from inorder.errors import IntegrityError, OperatorError, ReadError, StageError
from inorder.models.answers import AnswerStore
from tests.code.goldens import LANGUAGES, source_of

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "corpus" / "documents"
SEED_BYTES_MAX = 60_000
_SEPARATOR = b"\n--part--\n"
_SAMPLE = ROOT / "examples" / "sample"
Check = Callable[[bytes], object]


class Target(NamedTuple):
    """A parser, and ordinary inputs to begin with."""

    check: Check
    seeds: Callable[[], Iterable[bytes]]
    bytes_max: int = 4096
    further_seeds: Callable[[], Iterable[bytes]] = tuple
    """Documents of others, which a checkout need not have. What is made from them is not kept in the repository."""


@contextlib.contextmanager
def refusals(*kinds: type[Exception]) -> Iterator[None]:
    """Accept these exceptions if their message is one line."""
    try:
        yield
    except kinds as error:
        message = str(error)
        assert message, "a refusal without a reason"
        assert "\n" not in message, f"a refusal of several lines: {message!r}"


def check_packed_reader(kind: str, data: bytes) -> None:
    """Read a document that is a ZIP archive, of these members."""
    check_reader(kind, fold(data))


def fold(data: bytes) -> bytes:
    """Make a ZIP archive of the members in `data`: a name, a line feed, and the content, ended by a separator. A fuzzer
    changes what is in the archive, and not what is compressed."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        for member in data.split(_SEPARATOR)[:20]:
            name, _, text = member.partition(b"\n")
            packed.writestr(zipfile.ZipInfo(name.decode("utf-8", "replace").partition("\0")[0]), text)
    return content.getvalue()


def unfold(archive: bytes) -> bytes:
    """Return the members of a ZIP archive as `fold` reads them."""
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        return _SEPARATOR.join(b"%b\n%b" % (name.encode(), packed.read(name)) for name in packed.namelist())


def check_reader(kind: str, data: bytes) -> None:
    """Read a document of this kind, and write it in each form."""
    from inorder.documents.doctags.docling_json import write_json
    from inorder.documents.doctags.markdown import write_markdown
    from inorder.documents.doctags.tags import write_doctags
    from inorder.documents.doctags.wellformed import clean_document
    from inorder.documents.readers.registry import load_reader

    with refusals(ReadError):
        document = load_reader(kind)(data, "name")
        assert document.blocks or document.warnings, "a document without blocks, and no reason for it"
        write_json(document)
        write_markdown(document)
        write_doctags(clean_document(document)).encode()


def check_archive(archive_format: str, data: bytes) -> None:
    """List an archive, and read its members."""
    from inorder.documents.archives.entry import MemberChanged
    from inorder.documents.archives.limits import ArchiveError
    from inorder.documents.archives.listing import list_archive
    from inorder.documents.archives.members import read_member

    found = list_archive(io.BytesIO(data), archive_format)
    assert "\n" not in found.problem
    for member in found.members[:20]:
        if not member.problem and not member.is_encrypted:
            with refusals(ArchiveError, MemberChanged, ReadError):
                read_member(io.BytesIO(data), member)


def check_sniff(data: bytes) -> None:
    """Tell the kind of a file whose name is before the first zero byte."""
    from inorder.documents.readers.sniff import sniff
    from inorder.files.encoding import decode

    name, _, content = data.partition(b"\0")
    sniff(os.fsdecode(name), content)
    with refusals(ReadError):
        decode(content, os.fsdecode(name)).text.encode("utf-8", "surrogatepass")


def check_code(data: bytes) -> None:
    """Parse source code of the language that the first byte chooses."""
    from inorder.code.parse import parse
    from tests.code.partition import check_partition

    names = [path.name for path in _list_golden_code()]
    if data:
        name, content = names[data[0] % len(names)], data[1:]
        check_partition(content, parse(name, content))


def check_docling_json(data: bytes) -> None:
    """Read a document that another program has written."""
    from inorder.documents.doctags.record_reader import read_record

    with refusals(ValueError):
        read_record(data)


def check_journal(data: bytes) -> None:
    """Scan and replay a journal, of which any number of bytes were synced."""
    from inorder.journal.replay import CorruptRecord, replay
    from inorder.journal.scan import scan

    found = scan(data)
    assert scan(data[: found.offset]).records == found.records
    with refusals(CorruptRecord):
        replay(found.records)


def check_record(data: bytes) -> None:
    """Scan a journal with a record whose checksum is right; the first byte chooses its type."""
    from inorder.journal.frame import encode_frame
    from inorder.journal.scan import scan

    if data:
        scan(encode_frame(data[0] % 12, data[1:]))


def check_codec(data: bytes) -> None:
    """Read stored content whose checksum is right, and content that has none."""
    from inorder.documents.convert.stored import unpack_document
    from inorder.library.codec import RAW, ZSTD, Content, pack_content, unpack_content, unpack_texts

    assert unpack_content(pack_content(data)) == data
    for codec in (RAW, ZSTD, 7):
        with refusals(IntegrityError):
            unpack_content(Content(codec, 100, zlib.crc32(data), data))
    with refusals(IntegrityError):
        unpack_texts(data, zlib.crc32(data))
    with refusals(ValueError):
        unpack_document(data)


def check_blocks(data: bytes) -> None:
    """Read a block of postings in each way that a search does."""
    from inorder.index.lexical.blocks import decode_blocks, find_postings, find_postings_by_prefix, read_terms
    from inorder.index.lexical.schema import DamagedIndexError

    for read in (
        partial(find_postings, term="lamp"),
        partial(find_postings_by_prefix, prefix="la"),
        read_terms,
        lambda block: decode_blocks([block, block]),
    ):
        with refusals(DamagedIndexError):
            read(data)


def check_counter(data: bytes) -> None:
    """Count terms with the compiled counter and with the other one."""
    from inorder.index.lexical.compiled_counter import CompiledCounter
    from inorder.index.lexical.plain_counter import PlainCounter

    fields = data.decode("utf-8", "replace").split("\0")
    fields = fields[: len(fields) // 2 * 2] or [data.decode("latin-1"), ""]
    for language in ("", "en"):
        counts = [counter(language).count(fields) for counter in (CompiledCounter, PlainCounter)]
        assert counts[0] == counts[1]


def check_ignore_file(data: bytes) -> None:
    """Parse an ignore file, and ask it about some paths."""
    from inorder.files.walk import is_ignored, parse_rules

    text = data.decode("utf-8", "surrogateescape")
    rules = parse_rules("src/", text, "/here/.gitignore")
    assert all("\n" not in problem for problem in rules.problems)
    for path in ("src/a.py", "src/deep/er/", "src/\udcff", f"src/{text[:20].replace('/', '')}"):
        is_ignored([rules], path)


def check_address(data: bytes) -> None:
    """Parse an address as a source, an export, a target and a server of vectors. No printer shows its password."""
    from inorder.documents.embed.providers.registry import needs_trust, require_family
    from inorder.files.addresses import parse_address
    from inorder.host.credentials import hide_credentials, redact, restore_credentials
    from inorder.sources.address import resolve_source
    from inorder.targets.registry import find_kind, is_target

    text = os.fsdecode(data).replace("\0", "")
    redact(text)
    for parse in (
        resolve_source,
        parse_address,
        is_target,
        find_kind,
        needs_trust,
        partial(require_family, family="dense"),
    ):
        with refusals(OperatorError):
            parse(text)
    with refusals(OperatorError):
        hidden = hide_credentials(text)
        restore_credentials(hidden)
        assert hide_credentials(hidden) == hidden
    secret = f"https://host/?api_key=Zq8{text.replace('&', '').replace('#', '')}"
    assert "Zq8" not in redact(secret), redact(secret)


def check_spelling(data: bytes) -> None:
    """Write any path as text, and read it back."""
    from inorder.host.spelling import read_spelling, spell

    path = os.fsdecode(data)
    assert read_spelling(spell(path)) == path
    spell(path).encode()


def check_query(data: bytes) -> None:
    """Ask a question, with a filter behind the first zero byte, of a small index."""
    from inorder.index.search import SearchOptions, search
    from inorder.library.opening import find_index

    question, _, path = data.decode("utf-8", "surrogateescape").partition("\0")
    with refusals(OperatorError):
        found = search(find_index(_make_data()), question, SearchOptions(path=path, count=3))
        for hit in found.hits:
            found.make_snippet(hit)


def check_http(data: bytes) -> None:
    """Send a request: the target on the first line, and headers."""
    lines = data.split(b"\n")
    path, _, query = lines[0].partition(b"?")
    headers = [line.lower().partition(b":")[::2] for line in lines[1:]]
    scope = {
        "type": "http",
        "method": "GET",
        "path": f"/{path.decode('utf-8', 'replace')}",
        "raw_path": b"/" + path,
        "query_string": query,
        "headers": [(b"host", b"127.0.0.1"), *headers],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8765),
        "scheme": "http",
        "root_path": "",
    }
    statuses: list[int] = []

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        statuses.extend([message["status"]] if message["type"] == "http.response.start" else [])

    asyncio.run(asyncio.wait_for(_make_app()(scope, receive, send), 20))
    assert statuses, "no answer"
    assert statuses[0] < 500, statuses


def check_mcp(data: bytes) -> None:
    """Call a tool that an assistant has: its name, and arguments as JSON behind it."""
    from mcp.server.mcpserver.exceptions import ToolError

    name, _, arguments = data.partition(b" ")
    try:
        found = msgspec.json.decode(arguments, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return
    try:
        asyncio.run(_make_tools().call_tool(name.decode("utf-8", "replace"), found))
    except ToolError as error:
        cause = error.__cause__
        assert cause is None or type(cause).__name__ in ("ToolError", "ValidationError"), repr(cause)


def check_settings(data: bytes) -> None:
    """Read a settings file."""
    from inorder.cli.settings import FILE, SettingsFile, _parse_file, _parse_tables

    with refusals(OperatorError):
        tables = _parse_file(FILE, data)
        _parse_tables(SettingsFile(FILE, tables, is_trusted=False))


def check_option(data: bytes) -> None:
    """Parse the value of the option that the first byte chooses, and write it again."""
    from inorder.cli.option_types import InvalidValue
    from inorder.cli.options import ALL

    options = sorted(ALL.items())
    if data:
        _, option = options[data[0] % len(options)]
        try:
            value = option.type.parse(os.fsdecode(data[1:]))
        except (InvalidValue, OperatorError):
            return
        option.type.parse(option.type.format(value))


def check_retry_after(data: bytes) -> None:
    """Read when a server wants to be asked again."""
    from inorder.engines.retry_after import parse_retry_after

    value, _, date = data.decode("latin-1").partition("\n")
    wait_s = parse_retry_after({"Retry-After": value, "Date": date})
    assert wait_s is None or wait_s >= 0


def check_model_answer(data: bytes) -> None:
    """Read what a chat model has answered, judge its text, and make it the blocks of a page."""
    from inorder.documents.doctags.docling_json import write_json
    from inorder.documents.model import Document
    from inorder.documents.readers.vision.blocks import read_page_text
    from inorder.models.validation import check_text, make_page_check

    with refusals(StageError):
        answer = _make_client()._parse(data, 5)
        reasons = [check_text(answer), make_page_check("lamp wick glass tower storm " * 12)(answer)]
        assert not any("\n" in reason for reason in reasons), reasons
        warnings: list[str] = []
        blocks = read_page_text(answer.text, 1, warnings)
        assert not any("\n" in warning for warning in warnings), warnings
        write_json(Document(name="name", mimetype="application/pdf", blocks=blocks))


def check_vectors(data: bytes) -> None:
    """Read the vectors that a server has answered, for two texts, in each protocol."""
    from inorder.documents.embed.providers.server import PROTOCOLS, ServerProvider
    from inorder.models.limits import ServerLimits

    calls: Any = SimpleNamespace(must_wait=False, begin=lambda *_: None, finish=lambda _: data)
    for name, protocol in PROTOCOLS.items():
        provider = ServerProvider(name, protocol, "m", calls, ServerLimits(), BatchTally())
        with refusals(StageError, ValueError):
            found = provider.embed(["lamp", "oil"])
            assert found.shape == (2, provider.dimensions)
            assert np.isfinite(found).all()


def check_headers(data: bytes) -> None:
    """Read what a server says of its limits."""
    from inorder.models.limits import read_rate_limits

    names = [f"x-ratelimit-{part}-{of}" for part in ("limit", "remaining", "reset") for of in ("tokens", "requests")]
    found = read_rate_limits(dict(zip(names, data.decode("latin-1").split("\n"), strict=False)))
    assert all(value is None or 0 <= value < float("inf") for value in found), found


def check_block_sums(data: bytes) -> None:
    """Read checksums of the library, as they are and behind a right checksum of their own."""
    from inorder.index.block_sums import NAME, find_damaged_files, is_damaged

    folder = _make_library()
    for content in (data, zlib.crc32(data).to_bytes(4, "little") + data):
        Path(folder, NAME).write_bytes(content)
        is_damaged(folder)
        for found in find_damaged_files(folder):
            assert "\n" not in found.problem


def check_attachments(data: bytes) -> None:
    """List what is attached to a PDF."""
    from inorder.documents.archives.pdfs import list_attachments

    with refusals(ReadError):
        for _, name, size, digest, _ in list_attachments(data):
            assert name
            assert size == 0 or digest


def check_lines(data: bytes) -> None:
    """Read a manifest, and questions with their judgements, from files."""
    from inorder.index.evaluation import read_questions
    from inorder.stage.manifest.reader import find_runs, read_rows

    path = Path(_make_folder()) / "lines"
    path.write_bytes(data)
    list(read_rows(str(path)))
    find_runs(str(path))
    with refusals(OperatorError):
        read_questions(path, path)


@cache
def _list_golden_code() -> list[Path]:
    return [source_of(language) for language in LANGUAGES]


@cache
def _make_folder() -> str:
    folder = tempfile.mkdtemp(prefix="inorder-fuzz-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def _make_client() -> Any:
    from inorder.models.client import ModelClient

    client = ModelClient("http://127.0.0.1:9/v1#m", AnswerStore(f"{_make_folder()}/answers.sqlite"))
    atexit.register(client.close)
    return client


@cache
def _make_library() -> str:
    """A copy of DATA with what its checksums are of."""
    from inorder.index.block_sums import NAME

    folder = Path(_make_folder()) / "checked"
    folder.mkdir()
    for path in Path(_make_data()).glob("library*"):
        if path.name != NAME and path.is_file():
            shutil.copy(path, folder)
    return str(folder)


@cache
def _make_data() -> str:
    from tests.serve.site import make_site

    return str(make_site(Path(_make_folder())).data)


@cache
def _make_app() -> Any:
    from inorder.serve.app import make_app
    from inorder.serve.options import ServeOptions

    return make_app(ServeOptions(data=(_make_data(),)))


@cache
def _make_tools() -> Any:
    from inorder.cli.commands.find.index_tools import make_server

    return make_server(_make_data())


def _seed_readers(kind: str) -> Iterator[bytes]:
    from tests.documents.test_any_input import SEEDS

    yield SEEDS.get(kind, b"")
    yield from _find_documents(_SAMPLE, kind)


def _find_documents(folder: Path, kind: str) -> Iterator[bytes]:
    from inorder.documents.readers.sniff import HEAD_BYTES, sniff

    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if path.stat().st_size <= SEED_BYTES_MAX and sniff(path.name, path.read_bytes()[:HEAD_BYTES]) == kind:
            yield path.read_bytes()


def _unfold_all(archives: Iterable[bytes]) -> Iterator[bytes]:
    for archive in archives:
        with contextlib.suppress(zipfile.BadZipFile):
            yield unfold(archive)


def _seed_archives(archive_format: str) -> Iterator[bytes]:
    import tarfile

    content = io.BytesIO()
    if archive_format == "zip":
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("a/note.md", "# Lamp\n")
            packed.writestr("b.txt", "oil " * 100)
    else:
        with tarfile.open(fileobj=content, mode=f"w:{archive_format}") as tar:
            entry = tarfile.TarInfo("a/" + "n" * 120)
            entry.size = 5
            tar.addfile(entry, io.BytesIO(b"# One"))
    yield content.getvalue()


def _seed_mails() -> Iterator[bytes]:
    from tests.documents.test_any_input import SEEDS

    yield from (SEEDS["mail"], SEEDS["mailbox"])


def _seed_code() -> Iterator[bytes]:
    for number, path in enumerate(_list_golden_code()):
        yield bytes([number]) + path.read_bytes()[:3000]


def _seed_records() -> Iterator[bytes]:
    from inorder.documents.doctags.docling_json import write_json
    from inorder.documents.readers.registry import load_reader
    from tests.documents.test_any_input import NOTES, PAGE

    yield write_json(load_reader("html")(PAGE.encode(), "name"))
    yield write_json(load_reader("markdown")(NOTES.encode(), "name"))


def _seed_journals() -> Iterator[bytes]:
    from inorder.journal.records import (
        Attempt,
        Checkpoint,
        Commit,
        Detail,
        Header,
        Terminal,
        WindowRecord,
        encode_record,
    )

    records = (
        Header("run", "plan", "config", ["sink"]),
        WindowRecord(0, 0, 4, (1, 2, 3)),
        Attempt(1, 1),
        Terminal(0, bytes([4, 5, 6]), {2: Detail(1, "input", "why", (("a", 1, 2),))}),
        Commit(3, 0, [(3, 10, 7)]),
        Checkpoint(end=3, durable=0, marks=[(3, 10, 7)], succeeded=1, skipped=1, failed=1, granted={1: 1}, is_end=True),
    )
    yield b"".join(map(encode_record, records))
    yield encode_record(records[0]) + encode_record(records[2])


def _seed_codec() -> Iterator[bytes]:
    from inorder.documents.convert.stored import StoredDocument, pack_document
    from inorder.documents.readers.registry import load_reader
    from inorder.library.codec import pack_texts
    from tests.documents.test_any_input import PAGE

    yield pack_texts(["one", "two words", "x" * 400])[0].data
    yield pack_document(StoredDocument("a", 7, load_reader("html")(PAGE.encode(), "name")))[1]


def _seed_blocks() -> Iterator[bytes]:
    import numpy as np

    from inorder.index.lexical.blocks import PostingColumns, encode_blocks

    numbers = np.array([1, 5, 300, 2, 70_000, 9], np.int64)
    counts = np.array([1, 2, 3, 1, 1, 4], np.uint8)
    columns = PostingColumns(np.array([0, 3, 5]), numbers, counts, np.array([0, 1, 0, 0, 0, 0], np.uint8))
    yield from (block for _, block in encode_blocks(["lamp", "lard", "oil"], columns))


def _seed_http() -> Iterator[bytes]:
    from inorder.serve.api.routes import ENDPOINTS

    for endpoint in ENDPOINTS:
        fields = {field.encode_name for field in msgspec.structs.fields(endpoint.params)}
        known = {"q": "lamp", "id": "docs/note.md", "name": "Lamp", "count": "2", "page": "1"}
        query = "&".join(f"{name}={known[name]}" for name in sorted(fields & known.keys()))
        yield f"{endpoint.path[1:]}?{query}".encode()
    yield b"search?token=x\norigin: http://127.0.0.1\ncookie: inorder_8765=x\naccept: */*"


def _seed_block_sums() -> Iterator[bytes]:
    from inorder.index.block_sums import NAME

    content = Path(_make_data(), NAME).read_bytes()
    yield content
    yield content[4:]


def _seed_attachments() -> Iterator[bytes]:
    from tests.documents.pdf_files import pdf_with_attachments

    yield pdf_with_attachments({"a.md": b"# Oil", "box.zip": b"PK", "n" * 200: b""})
    yield pdf_with_attachments({})


_PAGE = "# Lamps\n\n| oil | l |\n|---|---|\n| colza | 2 |\n\n$$x^2$$\n\n![A tower](t.png)\n\nTable 1: <b>Oil</b> [a](b)"
MODEL_ANSWERS = tuple(
    msgspec.json.encode({"choices": [{"message": message, "finish_reason": reason}], "usage": usage})
    for message, reason, usage in (
        ({"content": _PAGE}, "stop", {"prompt_tokens": 9, "completion_tokens": 4}),
        ({"content": "lamp wick glass " * 60}, "length", None),
        ({"content": None, "refusal": "I'm sorry, but I cannot."}, None, {}),
        ({"content": "```markdown\n<table><tr><td colspan=2>a</td></tr></table>\n```"}, "stop", {}),
    )
)
VECTORS = (
    b"[[0.5, 1.5], [2, -1e3]]",
    b'{"data": [{"index": 1, "embedding": [1, 2]}, {"index": 0, "embedding": [3, 4.5]}]}',
)
SETTINGS = b"""[default]\nworkers = 2\ntimeout_s = 3.5\ndata = "x"\n[stage.run]\ndense = "hash:16"\n
[profile.night]\nmemory_max = "2 GiB"\nretries = 1\n"""
ADDRESSES = (
    b"https://user:secret@host:8080/a/b?api_key=K&x=1#model",
    b"openai:http://user:p%40ss@localhost:8080/v1#text",
    b"zip://folder::s3://bucket/box.zip",
    b"s3://bucket/prefix/",
    b"postgresql://u:p@host/db?sslmode=require",
    b"file:///a%20b",
    b"hash:16",
    b"https://[::1]:80/x",
)
MCP_CALLS = (
    b'search {"query": "lamp", "count": 2, "offset": 1, "mode": "lexical", "path": ["*.md", "!a"]}',
    b'search {"query": "sym:Lamp", "only": "code", "language": "python", "tokens_max": 9}',
    b'read {"path": "note.md", "line": 2, "offset": 3}',
    b'symbols {"name": "La", "count": 1}',
    b'callers {"name": "measure"}',
)
WORDS = ("Fog horns, fogHorn.start2() at 40°; häuser 灯台 маяк d\u0327 e\u0301", "The wick\0Log")


def _make_table() -> dict[str, Target]:
    from inorder.documents.old_office import CONVERTED
    from inorder.documents.readers.registry import PASSWORD_KINDS, READERS

    archives_of_xml = {
        f"reader-{kind}": Target(
            partial(check_packed_reader, kind),
            lambda kind=kind: _unfold_all(_seed_readers(kind)),
            16_384,
            lambda kind=kind: _unfold_all(_find_documents(SHARED, kind)),
        )
        for kind in READERS
        if kind in PASSWORD_KINDS and kind not in CONVERTED  # another program parses those
    }
    readers = {
        f"reader-{kind}": Target(
            partial(check_reader, kind),
            partial(_seed_readers, kind),
            65_536 if kind == "pdf" else 4096,
            partial(_find_documents, SHARED, kind),
        )
        for kind in READERS
        if kind not in PASSWORD_KINDS
    }
    archives = {
        f"archive-{name}": Target(partial(check_archive, each), partial(_seed_archives, each))
        for name, each in (("zip", "zip"), ("tar", ""), ("tar.gz", "gz"))
    }
    mails = {f"archive-{each}": Target(partial(check_archive, each), _seed_mails) for each in ("eml", "mbox")}
    return {
        **readers,
        **archives_of_xml,
        **archives,
        **mails,
        "sniff": Target(
            check_sniff, lambda: [b"a.pdf\0%PDF-1.7", b"x.html\0<html>", b"utf-16\0\xff\xfea\0", b"\0PK\3\4"]
        ),
        "code": Target(check_code, _seed_code),
        "docling-json": Target(check_docling_json, _seed_records, 8192),
        "journal": Target(check_journal, _seed_journals),
        "journal-record": Target(check_record, lambda: [bytes([number]) + b"\x92\x01\xa1x" for number in range(12)]),
        "codec": Target(check_codec, _seed_codec),
        "blocks": Target(check_blocks, _seed_blocks),
        "counter": Target(check_counter, lambda: [each.encode() for each in WORDS]),
        "ignore-file": Target(check_ignore_file, lambda: [b"*.py\n!a.py\n/deep/\n**/x\n[a-z]?\\ \n# c\n", b"a/**/b\n"]),
        "address": Target(check_address, lambda: ADDRESSES),
        "spelling": Target(check_spelling, lambda: [b"a\\udcff/\xff\\u005c", b"plain/path"]),
        "query": Target(
            check_query, lambda: [b"where is the lamp\0*.md", b"sym:Lamp.light", b"def:measure", b"ref: x"], 1500
        ),
        "http": Target(check_http, _seed_http, 1500),
        "mcp": Target(check_mcp, lambda: MCP_CALLS, 1500),
        "settings": Target(check_settings, lambda: [SETTINGS]),
        "option": Target(
            check_option, lambda: [bytes([n]) + v for n in range(0, 200, 3) for v in (b"1.5 GiB", b"none", b"2,3")], 200
        ),
        "retry-after": Target(
            check_retry_after, lambda: [b"120", b"Wed, 21 Oct 2015 07:28:00 GMT\nWed, 21 Oct 2015 07:27:00 GMT"], 200
        ),
        "model-answer": Target(check_model_answer, lambda: MODEL_ANSWERS),
        "vectors": Target(check_vectors, lambda: VECTORS, 1500),
        "rate-limits": Target(check_headers, lambda: [b"60\n10\n59\n0\n6m0s\n20ms", b"1e9\n5\n-1\nx\n1.5\n3h"], 200),
        "block-sums": Target(check_block_sums, _seed_block_sums, 1500),
        "attachments": Target(check_attachments, _seed_attachments, 8192),
        "lines": Target(
            check_lines, lambda: [b'{"id": "1", "text": "a"}\n', b"q d 1\nq e 0\n", b'{"__config__": true}\n']
        ),
    }


TARGETS = _make_table()
