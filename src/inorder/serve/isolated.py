"""Work on the content of documents in a child process: page images, highlighting, and members of archives.

A hostile file may crash PDFium, or keep a highlighter busy for ever. In a process of its own, with limits for time and
memory, it can do no harm to the server. The parent calls `run_isolated`; the child is this module as a program.
"""

import json
import struct
import subprocess
import sys
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING

from inorder.errors import ReadError

from .problems import RequestError, TooBusy

if TYPE_CHECKING:
    from inorder.documents.readers.pdf.render import Pixels

SECONDS_MAX = 10
MEMORY_BYTES_MAX = 2 * 1024**3
_CHILDREN_MAX = 2
_WAIT_S = 15.0
_CACHE_BYTES_MAX = 64 * 1024 * 1024
_children = BoundedSemaphore(_CHILDREN_MAX)

_IMAGES = (b"\x89PNG", b"\xff\xd8\xff", b"II*\0", b"MM\0*", b"RIFF", b"BM")
Token = tuple[str, str]
"""The class of a token, empty for plain text, and its text."""


class ResultCache:
    """Results of children by key, the latest ones. Thread-safe."""

    def __init__(self, bytes_max: int = _CACHE_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._lock = Lock()
        self._results: OrderedDict[object, bytes] = OrderedDict()
        self._bytes = 0

    def get(self, key: object, compute: Callable[[], bytes]) -> bytes:
        """A result that is known, or else computed now."""
        with self._lock:
            found = self._results.get(key)
            if found is not None:
                self._results.move_to_end(key)
                return found
        made = compute()
        with self._lock:
            self._bytes += len(made) - len(self._results.pop(key, b""))
            self._results[key] = made
            while self._bytes > self._bytes_max and len(self._results) > 1:
                self._bytes -= len(self._results.popitem(last=False)[1])
        return made


def run_isolated(task: str, argument: str, content: bytes) -> bytes:
    """Run a task of this module in a child process. Raises RequestError if it fails or takes too long."""
    if not _children.acquire(timeout=_WAIT_S):
        raise TooBusy("too many pages are being drawn; try again")
    try:
        ended = subprocess.run(
            [sys.executable, "-I", "-m", __name__, task, argument],
            input=content,
            capture_output=True,
            timeout=SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise RequestError(f"this takes longer than {SECONDS_MAX} s; the view is not available") from None
    finally:
        _children.release()
    if ended.returncode != 0:
        lines = ended.stderr.decode("utf-8", "replace").strip().splitlines()
        raise RequestError(lines[-1][:300] if lines and ended.returncode == 1 else "the file crashed its reader")
    return ended.stdout


def _limit_memory() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_MAX, SECONDS_MAX + 1))


def draw_page(content: bytes, number: int) -> bytes:
    """A page of a PDF, or of an image, as a PNG."""
    return _write_png(_draw_image(content, number) if is_image(content) else _draw_pdf(content, number))


def is_image(content: bytes) -> bool:
    """Whether a file is an image that a reader knows, and no PDF."""
    return content.startswith(_IMAGES)


def _draw_image(content: bytes, number: int) -> "Pixels":
    from inorder.documents.readers.ocr.image import decode_page

    return decode_page(content, number)


def _draw_pdf(content: bytes, number: int) -> "Pixels":
    from inorder.documents.readers.pdf.pdfium import open_pdf
    from inorder.documents.readers.pdf.render import render_page

    with open_pdf(content) as pdf:
        if not 1 <= number <= pdf.page_count:
            raise ReadError(f"the PDF has {pdf.page_count} pages")
        with pdf.page(number) as page:
            if page is None:
                raise ReadError(f"page {number} cannot be drawn")
            return render_page(page)[0]


def read_natively(content: bytes, number: int) -> bytes:
    """A page of a PDF as the rules read it, as DoclingDocument JSON."""
    from inorder.documents.doctags.docling_json import write_json
    from inorder.documents.readers.pdf import reader as pdf

    return write_json(
        pdf.read(content, "page", first_page=number, last_page=number), filename="page.pdf", binary_hash=0
    )


def _write_png(pixels: "Pixels") -> bytes:
    height, width = pixels.shape[:2]
    rows = pixels[:, :, ::-1].tobytes()
    stride = 3 * width
    raw = b"".join(b"\x00" + rows[at : at + stride] for at in range(0, len(rows), stride))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(raw, 3)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_make_png_chunk(name, data) for name, data in parts)


def _make_png_chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def unpack_member(content: bytes, file_name: str, name: str) -> bytes:
    """Return the content of a member of an archive, or of an attachment of mail, by its name."""
    import io

    from inorder.documents.archives.listing import list_archive
    from inorder.documents.archives.members import read_member
    from inorder.documents.archives.names import find_format

    archive_format = find_format(file_name)
    if archive_format is None:
        raise ReadError(f"{file_name} is not an archive")
    try:
        listing = list_archive(io.BytesIO(content), archive_format)
        member = next((each for each in listing.members if each.name == name), None)
        if member is None:
            raise ReadError(listing.problem or f"{file_name} has no member {name} any more")
        if member.problem:
            raise ReadError(member.problem)
        return read_member(io.BytesIO(content), member)
    except ReadError:
        raise
    except Exception as error:  # whatever the libraries raise about a damaged archive
        raise ReadError(f"{file_name} cannot be read: {type(error).__name__}: {error}") from error


def highlight(text: str, file_name: str) -> list[list[Token]]:
    """The tokens of every line. A language that is not known is plain text."""
    from pygments.lexers import TextLexer, get_lexer_for_filename
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_for_filename(file_name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        lexer = TextLexer(stripnl=False, ensurenl=False)
    return list(_split_lines(lexer.get_tokens(text)))


_CLASSES = (
    ("Comment", "c"),
    ("Literal.String", "s"),
    ("Literal.Number", "m"),
    ("Keyword.Type", "t"),
    ("Keyword", "k"),
    ("Name.Function", "f"),
    ("Name.Class", "t"),
    ("Name.Builtin", "b"),
    ("Name.Decorator", "d"),
    ("Name.Tag", "k"),
    ("Name.Attribute", "b"),
    ("Generic.Heading", "k"),
    ("Operator.Word", "k"),
)


def _split_lines(tokens: "Iterator[tuple[object, str]]") -> Iterator[list[Token]]:
    line: list[Token] = []
    names: dict[object, str] = {}
    for kind, text in tokens:
        if kind not in names:
            name = str(kind).removeprefix("Token.")
            names[kind] = next((short for long, short in _CLASSES if name.startswith(long)), "")
        first, *others = text.split("\n")
        if first:
            line.append((names[kind], first))
        for part in others:
            yield line
            line = [(names[kind], part)] if part else []
    yield line


def main() -> None:
    """Run one task: its name and argument are on the command line, the content is on stdin."""
    _limit_memory()
    task, argument = sys.argv[1:3]
    content = sys.stdin.buffer.read()
    try:
        if task == "page":
            made = draw_page(content, int(argument))
        elif task == "native":
            made = read_natively(content, int(argument))
        elif task == "member":
            made = unpack_member(content, *json.loads(argument))
        else:
            made = json.dumps(highlight(content.decode("utf-8", "replace"), argument)).encode()
    except (ReadError, ValueError) as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    sys.stdout.buffer.write(made)


if __name__ == "__main__":
    main()
