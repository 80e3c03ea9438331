"""PDFs of public texts, with what their sources say: READMEs set with a template of pandoc, and papers from LaTeX.

    python bench/quality_pdfs.py readmes FOLDER eisvogel.tex OUT
    python bench/quality_pdfs.py papers FOLDER OUT

The READMEs are those of packages of npm, which are fetched to the folder; every other one is set with framed listings.
The papers are LaTeX files that have their PDF beside them, as authors publish it, in any folder below: clones of their
repositories. pandoc says what each source says: text in reading order,
headings, tables and code. Formulas, citations and references to figures are left out: a source names what the PDF
numbers.
"""

import argparse
import json
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from .scores import Content, Grid, GridCell, Heading

PACKAGES = """
ace-builds agenda ajv amqplib archiver async babel-loader bcrypt bcryptjs better-sqlite3 bluebird body-parser
bootstrap boxen bull busboy canvas chai chalk chart.js cheerio chokidar cli-table3 codemirror concurrently connect
cookie-parser core-js cors cron cross-env csv-parse date-fns dayjs debug dotenv draft-js ejs eslint execa express
fast-xml-parser fastify figlet forever form-data formidable fs-extra gm got grunt gulp hapi helmet highlight.js howler
i18next immer immutable ini inquirer interactjs jotai jquery jsdom json5 jsonwebtoken kafkajs knex koa leaflet less
level lit log4js lowdb lru-cache luxon markdown-it marked minimist mobx mocha moment monaco-editor mongoose morgan ms
multer mustache mysql2 needle nightmare node-fetch node-schedule nodemailer nunjucks ora p-limit p-queue papaparse
parcel passport pdfkit pg phaser pino pixi.js playwright plotly.js pm2 preact prettier prisma prismjs pug
""".split()  # noqa: SIM905
"""Packages of npm whose READMEs are set."""
PAPER_CHARACTERS_MIN = 5_000
TIMEOUT_S = 120
_INLINE_TEXTS = {"Space": " ", "SoftBreak": " ", "LineBreak": " "}
_OMITTED = frozenset(("Image", "Cite", "RawInline", "Math"))


class Teller:
    """Collects what a tree of pandoc says."""

    def __init__(self, tree: dict[str, Any]) -> None:
        self._parts: list[str] = []
        self._headings: list[Heading] = []
        self._tables: list[Grid] = []
        self._code: list[str] = []
        for name in ("title", "author", "abstract"):
            text = _meta_text(tree["meta"].get(name))
            if text and name == "title":
                self._headings.append((0, text))
            self._parts.append(text)
        self._tell(tree["blocks"])

    def content(self) -> Content:
        """What was collected."""
        text = " ".join(part for part in self._parts if part)
        return Content(text, self._headings, self._tables, self._code, [])

    def _tell(self, blocks: Sequence[dict[str, Any]]) -> None:
        for block in blocks:
            content = block.get("c")
            match block["t"]:
                case "Para" | "Plain":
                    self._parts.append(inline_text(content))
                case "LineBlock":
                    self._parts += map(inline_text, content)
                case "Header":
                    text = inline_text(content[2])
                    self._parts.append(text)
                    if text:
                        self._headings.append((content[0], text))
                case "CodeBlock":
                    self._code.append(content[1])
                    self._parts.append(content[1])
                case "BlockQuote":
                    self._tell(content)
                case "BulletList":
                    for item in content:
                        self._tell(item)
                case "OrderedList":
                    for number, item in enumerate(content[1], content[0][0]):
                        self._parts.append(f"{number}.")
                        self._tell(item)
                case "DefinitionList":
                    for term, definitions in content:
                        self._parts.append(inline_text(term))
                        for definition in definitions:
                            self._tell(definition)
                case "Div" | "Figure":
                    self._tell(content[-1])
                case "Table":
                    self._tell_table(content)

    def _tell_table(self, content: list[Any]) -> None:
        _, caption, _, head, bodies, foot = content
        rows = [*head[1], *(row for body in bodies for part in body[2:4] for row in part), *foot[1]]
        grid: Grid = []
        taken: set[tuple[int, int]] = set()
        for row, (_, cells) in enumerate(rows):
            column = 0
            for _, _, height, width, blocks in cells:
                while (row, column) in taken:
                    column += 1
                text = " ".join(Teller({"meta": {}, "blocks": blocks}).content().text.split())
                grid.append(GridCell(text, row, column, height, width))
                taken |= {(row + down, column + right) for down in range(height) for right in range(width)}
        if any(cell.text for cell in grid):
            self._tables.append(grid)
        self._parts += [Teller({"meta": {}, "blocks": caption[1]}).content().text, *(cell.text for cell in grid)]


def inline_text(inlines: Sequence[dict[str, Any]]) -> str:
    """The text of inlines."""
    return "".join(_inline_parts(inlines)).strip()


def _inline_parts(inlines: Sequence[dict[str, Any]]) -> Iterator[str]:
    for inline in inlines:
        kind, content = inline["t"], inline.get("c")
        if kind in _INLINE_TEXTS:
            yield _INLINE_TEXTS[kind]
        elif kind == "Str":
            yield content
        elif kind == "Code":
            yield content[1]
        elif kind == "Quoted":
            left, right = ("\u2018", "\u2019") if content[0]["t"] == "SingleQuote" else ("\u201c", "\u201d")
            yield f"{left}{inline_text(content[1])}{right}"
        elif kind == "Note":
            yield f" {Teller({'meta': {}, 'blocks': content}).content().text} "
        elif kind == "Link" and ["reference-type", "ref"] in content[0][2]:
            continue
        elif kind not in _OMITTED:
            inner = content[-2] if kind == "Link" else content[-1] if kind == "Span" else content
            yield from _inline_parts(inner)


def _meta_text(value: Any) -> str:
    if value is None:
        return ""
    kind, content = value["t"], value["c"]
    if kind == "MetaInlines":
        return inline_text(content)
    if kind == "MetaBlocks":
        return Teller({"meta": {}, "blocks": content}).content().text
    return " ".join(map(_meta_text, content)) if kind == "MetaList" else ""


def fetch_readmes(folder: Path) -> None:
    """Write the READMEs of the packages to a folder, but those that are there."""
    for name in PACKAGES:
        path = folder / f"{name}.md"
        if path.exists():
            continue
        with tempfile.TemporaryDirectory() as place:
            subprocess.run(["npm", "pack", "--silent", name], cwd=place, check=True, capture_output=True)
            with tarfile.open(next(Path(place).glob("*.tgz"))) as archive:
                member = next(each for each in archive if each.name.lower() == "package/readme.md")
                content = archive.extractfile(member)
                path.write_bytes(content.read() if content else b"")


def make_readmes(folder: Path, template: Path, out: Path) -> None:
    """Set each README, without its pictures, which are addresses of badges."""
    for number, path in enumerate(sorted(folder.glob("*.md"))):
        tree = _parse(path, "gfm")
        if tree is None or not path.stem.isprintable():
            continue
        tree = _without_pictures(tree)
        options = ["--template", template.absolute(), *(["--listings"] if number % 2 else [])]
        done = subprocess.run(
            ["pandoc", "-f", "json", "-o", out.absolute() / f"{path.stem}.pdf", "--pdf-engine=xelatex", *options],
            input=json.dumps(tree).encode(),
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        if done.returncode == 0:
            _write(out / f"{path.stem}.json", Teller(tree).content())


def _without_pictures(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_pictures(each) for each in value if not (isinstance(each, dict) and each.get("t") == "Image")]
    return {key: _without_pictures(each) for key, each in value.items()} if isinstance(value, dict) else value


def make_papers(folder: Path, out: Path) -> None:
    """Take the papers below a folder: each LaTeX file with a PDF of the same name beside it."""
    for path in sorted(folder.rglob("*.tex")):
        printed = path.with_suffix(".pdf")
        if not printed.exists() or b"\\begin{document}" not in path.read_bytes():
            continue
        tree = _parse(path, "latex")
        content = None if tree is None else Teller(tree).content()
        if content is not None and len(content.text) >= PAPER_CHARACTERS_MIN:
            name = "_".join(path.relative_to(folder).with_suffix("").parts)
            (out / f"{name}.pdf").write_bytes(printed.read_bytes())
            _write(out / f"{name}.json", content)


def _parse(path: Path, kind: str) -> dict[str, Any] | None:
    try:
        done = subprocess.run(
            ["pandoc", "-f", kind, "-t", "json", path.name],
            capture_output=True,
            timeout=TIMEOUT_S,
            cwd=path.parent,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout) if done.returncode == 0 else None


def _write(path: Path, content: Content) -> None:
    path.write_bytes(msgspec.json.encode(content))


def is_aside(name: str) -> bool:
    """Whether a document is in the third that is set aside."""
    return zlib.crc32(name.encode()) % 3 == 0


def main() -> None:
    """Write NAME.pdf and NAME.json to a folder."""
    parser = argparse.ArgumentParser()
    kinds = parser.add_subparsers(dest="kind", required=True)
    readmes = kinds.add_parser("readmes", help="fetch and set READMEs")
    readmes.add_argument("folder", type=Path, help="folder for the READMEs")
    readmes.add_argument("template", type=Path, help="template of pandoc")
    papers = kinds.add_parser("papers", help="take papers")
    papers.add_argument("folder", type=Path, help="folder with LaTeX files, each with its PDF beside it")
    for each in (readmes, papers):
        each.add_argument("out", type=Path)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.kind == "papers":
        make_papers(given.folder, given.out)
        return
    given.folder.mkdir(parents=True, exist_ok=True)
    fetch_readmes(given.folder)
    make_readmes(given.folder, given.template, given.out)
