"""Make the sample documents that cannot be written by hand: PDFs, Word files, web pages, odd encodings, broken files.

    python -m examples.make_sample

What they say stands in `examples/sample_source`, in a few marks: `#` for the title, `##` for a heading, `-` for an
item, `|` for a row of a table, four spaces for code, and paragraphs between blank lines. Everything comes out the same
bytes each time. The other files of the sample (Markdown, plain text, source code) are their own source.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.platypus import PageBreak

from examples.sample_formats import Block, Scan, docx, flowables, html, pdf

HERE = Path(__file__).resolve().parent
SAMPLE, SOURCE = HERE / "sample", HERE / "sample_source"


def source(name: str) -> list[Block]:
    """What a source says."""
    blocks: list[Block] = []
    for piece in (SOURCE / f"{name}.txt").read_text("utf-8").rstrip().split("\n\n"):
        lines = piece.splitlines()
        if piece.startswith("    "):
            blocks.append(Block("code", "\n".join(line[4:] for line in lines)))
        elif piece.startswith("|"):
            rows = tuple([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
            blocks.append(Block("table", rows=rows))
        elif piece.startswith("- "):
            blocks += [Block("item", line[2:]) for line in lines]
        elif piece.startswith("#"):
            blocks.append(Block("title" if piece.startswith("# ") else "heading", piece.lstrip("# ")))
        else:
            blocks.append(Block("text", " ".join(lines)))
    return blocks


class Made(NamedTuple):
    """A file of the sample: what it says, and how it is made of that."""

    sources: tuple[str, ...]
    make: Callable[[list[Block]], bytes]


def logbook(blocks: list[Block]) -> bytes:
    """Pages of text with a picture of a page between them."""
    middle = next(index for index, block in enumerate(blocks) if "February" in block.text)
    before, after = flowables(blocks[:middle]), flowables(blocks[middle:])
    return pdf([*before, PageBreak(), Scan(), PageBreak(), *after])


def phrases(blocks: list[Block]) -> bytes:
    """Chinese and Japanese, in fonts that every reader of PDFs knows."""
    for font in ("STSong-Light", "HeiseiMin-W3"):
        pdfmetrics.registerFont(UnicodeCIDFont(font))
    middle = [index for index, block in enumerate(blocks) if block.kind == "title"][1]
    return pdf(flowables(blocks[:middle], "STSong-Light") + flowables(blocks[middle:], "HeiseiMin-W3"))


def locked(password: str) -> Callable[[list[Block]], bytes]:
    return lambda blocks: pdf(flowables(blocks), lock=StandardEncryption(password, "owner", canModify=0))


def written(encoding: str, mark: str = "") -> Callable[[list[Block]], bytes]:
    """Plain text, after a mark of its encoding."""
    return lambda blocks: (mark + "\r\n\r\n".join(block.text for block in blocks)).encode(encoding)


MADE: dict[str, Made] = {
    "handbook/keepers-handbook.pdf": Made(
        ("handbook",), lambda blocks: pdf(flowables(blocks), columns=2, edges="The Keepers' Handbook")
    ),
    "handbook/visitors-phrases.pdf": Made(("phrases-chinese", "phrases-japanese"), phrases),
    "archive/logbook-1952.pdf": Made(("logbook-first", "logbook-last"), logbook),
    "archive/notice-to-members.pdf": Made(("members",), locked("")),
    "archive/sealed-letters.pdf": Made(("sealed",), locked("puffin")),
    "archive/torn-report.pdf": Made(("report",), lambda blocks: pdf(flowables(blocks))[:1500]),
    "archive/never-written.txt": Made((), lambda _: b""),
    "archive/photograph.docx": Made((), lambda _: b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8),
    "invoices/invoice-0417.pdf": Made(("invoice-417",), lambda blocks: pdf(flowables(blocks))),
    "invoices/invoice-0418.pdf": Made(("invoice-418",), lambda blocks: pdf(flowables(blocks))),
    "minutes/2024-03.docx": Made(("minutes-march",), docx),
    "minutes/2024-06.docx": Made(("minutes-june",), docx),
    "minutes/visitors-arabic.docx": Made(("minutes-arabic",), lambda blocks: docx(blocks, to_the_left=True)),
    "web/index.html": Made(("web-index",), html),
    "web/fog-signals.html": Made(("web-fog",), html),
    "web/tariffs.html": Made(("web-tariffs",), html),
    "web/visit-arabic.html": Made(("web-arabic",), lambda blocks: html(blocks, 'lang="ar" dir="rtl"')),
    "notes/radio-log-utf16.txt": Made(("radio-log",), written("utf-16-le", "\ufeff")),
    "notes/letter-windows-1252.txt": Made(("letter",), written("cp1252")),
    "notes/tides-shift-jis.txt": Made(("tides-japanese",), written("shift_jis")),
}
"""By path in the sample."""


def blocks_of(made: Made) -> list[Block]:
    """What a file says."""
    return [block for name in made.sources for block in source(name)]


def main() -> None:
    """Write all of them."""
    for path, made in MADE.items():
        target = SAMPLE / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(made.make(blocks_of(made)))


if __name__ == "__main__":
    main()
