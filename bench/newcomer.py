"""Makes the folder of somebody who tries inorder for the first time, and indexes it: 500 mixed files, always the same.

There are documents of every kind that is read, scans, old office formats, encrypted and broken files, archives, source
code, images, data, links, a pipe, and odd names. The output of the commands is printed as a terminal shows it.

    python bench/newcomer.py                 make the folder, index it, and print what the commands say
    python bench/newcomer.py --only FOLDER   only make the folder
"""

import argparse
import io
import os
import random
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from docx import Document
from msoffcrypto.format.ooxml import OOXMLFile
from PIL import Image, ImageDraw
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

WORDS = """
lamp keeper lighthouse rota signal fog horn invoice harbour tide boat crew storm oil glass lens beam watch log book
paint ladder stair tower rock island ferry supply radio chart wind weather evening morning contract budget meeting
""".split()  # noqa: SIM905
FILES = 500
PASSWORD = "l\u00e4mpchen"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_TIME = (2024, 1, 1, 0, 0, 0)
COMMANDS = (
    ("plan", "home"),
    ("run", "home"),
    ("search", "lighthouse keeper"),
    ("failures",),
    ("inspect",),
    ("run", "home"),
    ("run", "home", "--password-file", "passwords.txt"),
)


# ---- Files


def _sentence(rng: random.Random) -> str:
    return f"{' '.join(rng.choices(WORDS, k=rng.randint(6, 14))).capitalize()}."


def _prose(rng: random.Random, sentences: int = 8) -> str:
    return " ".join(_sentence(rng) for _ in range(sentences))


def _markdown(rng: random.Random) -> bytes:
    return f"# {_sentence(rng)}\n\n{_prose(rng)}\n\n## {_sentence(rng)}\n\n{_prose(rng)}\n".encode()


def _text(rng: random.Random) -> bytes:
    return f"{_prose(rng)}\n\n{_prose(rng)}\n".encode()


def _html(rng: random.Random) -> bytes:
    return f"<!doctype html><html><body><h1>{_sentence(rng)}</h1><p>{_prose(rng)}</p></body></html>".encode()


def _csv(rng: random.Random) -> bytes:
    return "".join(f"{rng.choice(WORDS)},{rng.randint(1, 99)},{rng.choice(WORDS)}\n" for _ in range(30)).encode()


def _mail(rng: random.Random) -> bytes:
    head = f"From: keeper@example.org\nSubject: {_sentence(rng)}\nDate: Mon, 1 Jan 2024 08:00:00 +0000"
    return f"{head}\nContent-Type: text/plain\n\n{_prose(rng)}\n".encode()


def _rtf(rng: random.Random) -> bytes:
    return rf"{{\rtf1\ansi {_prose(rng)}\par {_prose(rng)}}}".encode()


def _zip(parts: dict[str, bytes | str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name, _TIME), content)
    return made.getvalue()


def _docx(rng: random.Random) -> bytes:
    document = Document()
    document.add_heading(_sentence(rng))
    for _ in range(4):
        document.add_paragraph(_prose(rng))
    made = io.BytesIO()
    document.save(made)
    with zipfile.ZipFile(made) as archive:
        return _zip({name: archive.read(name) for name in archive.namelist() if not name.startswith("docProps/")})


def _xlsx(rng: random.Random) -> bytes:
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    related = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    cells = "".join(
        f'<row r="{row}"><c r="A{row}" t="inlineStr"><is><t>{rng.choice(WORDS)}</t></is></c>'
        f'<c r="B{row}"><v>{rng.randint(1, 999)}</v></c></row>'
        for row in range(1, 20)
    )
    return _zip(
        {
            "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
            "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{related}"><sheets>'
            '<sheet name="Rota" sheetId="1" r:id="rId1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
            f'relationships"><Relationship Id="rId1" Type="{related}/worksheet" Target="worksheets/sheet1.xml"/>'
            "</Relationships>",
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData></worksheet>',
        }
    )


def _pptx(rng: random.Random) -> bytes:
    drawing = "http://schemas.openxmlformats.org/drawingml/2006/main"
    slides = "http://schemas.openxmlformats.org/presentationml/2006/main"
    related = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    shape = f"<p:sp><p:txBody><a:p><a:r><a:t>{_prose(rng, 3)}</a:t></a:r></a:p></p:txBody></p:sp>"
    return _zip(
        {
            "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
            "ppt/presentation.xml": f'<p:presentation xmlns:p="{slides}" xmlns:r="{related}"><p:sldIdLst>'
            '<p:sldId id="256" r:id="rId1"/></p:sldIdLst></p:presentation>',
            "ppt/_rels/presentation.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
            f'relationships"><Relationship Id="rId1" Type="{related}/slide" Target="slides/slide1.xml"/>'
            "</Relationships>",
            "ppt/slides/slide1.xml": f'<p:sld xmlns:p="{slides}" xmlns:a="{drawing}"><p:cSld><p:spTree>{shape}'
            "</p:spTree></p:cSld></p:sld>",
        }
    )


def _odt(rng: random.Random) -> bytes:
    office = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
    text = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
    body = f"<text:h text:outline-level='1'>{_sentence(rng)}</text:h><text:p>{_prose(rng)}</text:p>"
    return _zip(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f'<office:document-content xmlns:office="{office}" xmlns:text="{text}"><office:body>'
            f"<office:text>{body}</office:text></office:body></office:document-content>",
            "META-INF/manifest.xml": '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:'
            'manifest:1.0"/>',
        }
    )


def _notebook(rng: random.Random) -> bytes:
    cell = f'{{"cell_type": "markdown", "metadata": {{}}, "source": ["# {_sentence(rng)}\\n", "{_prose(rng)}"]}}'
    return f'{{"cells": [{cell}], "metadata": {{}}, "nbformat": 4, "nbformat_minor": 5}}'.encode()


def _draw_pdf(rng: random.Random, pages: int, scanned: int = 0, password: str = "") -> bytes:
    """A PDF whose last pages, `scanned` of them, are images of text."""
    made = io.BytesIO()
    encrypt = StandardEncryption(password) if password else None
    canvas = Canvas(made, pagesize=A4, invariant=1, encrypt=encrypt)
    for page in range(pages):
        if page >= pages - scanned:
            canvas.drawImage(ImageReader(_draw_scan(rng)), 0, 0, *A4)
        else:
            for line in range(20):
                canvas.drawString(60, 780 - 20 * line, _sentence(rng))
        canvas.showPage()
    canvas.save()
    return made.getvalue()


def _draw_scan(rng: random.Random) -> Image.Image:
    image = Image.new("L", (620, 877), 255)
    draw = ImageDraw.Draw(image)
    for line in range(30):
        draw.text((60, 60 + 24 * line), _sentence(rng), fill=0)
    return image


def _pdf(rng: random.Random) -> bytes:
    return _draw_pdf(rng, rng.randint(1, 4))


def _scan(rng: random.Random) -> bytes:
    return _draw_pdf(rng, pages := rng.randint(1, 3), pages)


def _half_scan(rng: random.Random) -> bytes:
    return _draw_pdf(rng, 4, 1)


def _sealed_pdf(rng: random.Random) -> bytes:
    return _draw_pdf(rng, 1, password=PASSWORD)


def _sealed_docx(rng: random.Random) -> bytes:
    sealed = io.BytesIO()
    OOXMLFile(io.BytesIO(_docx(rng))).encrypt(PASSWORD, sealed)
    return sealed.getvalue()


def _image(kind: str) -> Callable[[random.Random], bytes]:
    def draw(rng: random.Random) -> bytes:
        made = io.BytesIO()
        _draw_scan(rng).resize((155, 219)).save(made, kind)
        return made.getvalue()

    return draw


def _old(rng: random.Random) -> bytes:
    """An OLE file, as Office wrote it until 2007: magic bytes, and streams that nobody reads."""
    return _OLE + rng.randbytes(4088)


def _binary(magic: bytes) -> Callable[[random.Random], bytes]:
    return lambda rng: magic + bytes((0, 1, 2, 3)) + rng.randbytes(2000)


def _torn(make: Callable[[random.Random], bytes]) -> Callable[[random.Random], bytes]:
    return lambda rng: (found := make(rng))[: len(found) // 3]


def _python(rng: random.Random) -> bytes:
    name = "_".join(rng.choices(WORDS, k=2))
    return (
        f'"""{_sentence(rng)}"""\n\n\ndef {name}(count):\n    """{_sentence(rng)}"""\n    return count + 1\n'.encode()
    )


def _javascript(rng: random.Random) -> bytes:
    name = "".join(word.title() for word in rng.choices(WORDS, k=2))
    return f"// {_sentence(rng)}\nexport function make{name}(count) {{\n  return count + 1;\n}}\n".encode()


def _archive(rng: random.Random) -> bytes:
    return _zip({"letter.md": _markdown(rng), "plan.docx": _docx(rng), "photo.png": _image("PNG")(rng)})


_KINDS: tuple[tuple[int, str, Callable[[random.Random], bytes]], ...] = (
    (70, "notes/{0:03}.md", _markdown),
    (30, "notes/memo {0:03}.txt", _text),
    (45, "documents/report-{0:03}.pdf", _pdf),
    (50, "documents/letter-{0:03}.docx", _docx),
    (18, "documents/sheet-{0:03}.xlsx", _xlsx),
    (10, "documents/talk-{0:03}.pptx", _pptx),
    (8, "documents/draft-{0:03}.odt", _odt),
    (6, "documents/old-{0:03}.rtf", _rtf),
    (20, "web/page-{0:03}.html", _html),
    (15, "data/table-{0:03}.csv", _csv),
    (15, "mail/{0:03}.eml", _mail),
    (4, "work/analysis-{0:02}.ipynb", _notebook),
    (30, "work/tool_{0:02}.py", _python),
    (20, "work/web/view{0:02}.js", _javascript),
    (12, "scans/scan-{0:03}.pdf", _scan),
    (6, "scans/signed-{0:03}.pdf", _half_scan),
    (16, "photos/img_{0:04}.jpg", _image("JPEG")),
    (8, "photos/screenshot {0:02}.png", _image("PNG")),
    (14, "old office/budget-{0:03}.xls", _old),
    (10, "old office/letter-{0:03}.doc", _old),
    (6, "old office/slides-{0:03}.ppt", _old),
    (6, "private/contract-{0:02}.pdf", _sealed_pdf),
    (3, "private/salary-{0:02}.docx", _sealed_docx),
    (4, "documents/broken-{0:02}.pdf", _torn(_pdf)),
    (3, "documents/broken-{0:02}.docx", _torn(_docx)),
    (6, "music/song-{0:02}.mp3", _binary(b"ID3\x04")),
    (3, "music/film-{0:02}.mp4", _binary(b"\0\0\0\x18ftypmp42")),
    (4, "data/store-{0:02}.sqlite", _binary(b"SQLite format 3\0")),
    (5, "data/dump-{0:02}.bin", _binary(b"\x7fELF")),
    (5, "archives/box-{0:02}.zip", _archive),
    (3, "archives/cold-{0:02}.7z", _binary(b"7z\xbc\xaf\x27\x1c")),
    (6, "notes/empty-{0:02}.txt", lambda rng: b""),
)
_NAMES = (
    "notes/R\u00e9sum\u00e9 (final) v2 [signed].md",
    "notes/\u706f\u53f0\u306e\u8a18\u9332.md",
    "notes/ends with a dot..md",
    "notes/a very long name that goes on and on, as the titles of papers do when people save them from a browser.md",
    "notes/tab\there.md",
)


def make_folder(folder: Path) -> int:
    """Write the files. Returns how many entries there are, members of archives left out."""
    rng = random.Random(30)
    for count, pattern, make in _KINDS:
        for number in range(count):
            _write(folder / pattern.format(number), make(rng))
    for name in _NAMES:
        _write(folder / name, _markdown(rng))
    for number in range(20):
        shutil.copy(folder / f"documents/letter-{number:03}.docx", folder / f"notes/copy of letter-{number:03}.docx")
    for number in range(3):
        (folder / f"notes/link-{number}.md").symlink_to(f"/nowhere/{number}.md")
    (folder / "notes/all").symlink_to("..")
    os.mkfifo(folder / "work/pipe")
    made = sum(len(files) for _, _, files in os.walk(folder)) + 1  # the link to a folder
    for number in range(FILES - made):
        _write(folder / f"notes/more-{number:03}.md", _markdown(rng))
    _write(folder / ".cache/hidden.md", b"# Not for anybody\n")
    return FILES


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


# ---- Commands


def show(folder: Path, columns: int) -> None:
    """Run the commands in this folder, on a terminal of this width, and print what they print."""
    shutil.rmtree(folder / ".inorder", ignore_errors=True)
    for command in COMMANDS:
        print(f"\n$ inorder {' '.join(f'{each!r}' if ' ' in each else each for each in command)}", flush=True)
        environment = os.environ | {"TERM": "xterm", "COLUMNS": str(columns), "LINES": "50"}
        shell = f'stty cols {columns} rows 50; exec {sys.executable} -m inorder "$@"'
        arguments = ["sh", "-c", shell, "inorder", *command]
        quoted = " ".join("'" + each.replace("'", "'\\''") + "'" for each in arguments)
        finished = subprocess.run(
            ["script", "-qec", quoted, "/dev/null"], cwd=folder, env=environment, stdin=subprocess.DEVNULL, check=False
        )
        print(f"[exit {finished.returncode}]", flush=True)


def main() -> None:
    """Make the folder and show the commands."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", metavar="FOLDER", type=Path)
    parser.add_argument("--columns", type=int, default=80)
    given = parser.parse_args()
    if given.only is not None:
        print(f"{make_folder(given.only)} files in {given.only}")
        return
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        make_folder(folder / "home")
        (folder / "passwords.txt").write_text(f"wrong\n{PASSWORD}\n", encoding="utf-8")
        show(folder, given.columns)


if __name__ == "__main__":
    main()
