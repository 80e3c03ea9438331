"""The golden files: one source for each language, beside what is expected of it.

After an intended change, `python -m tests.code.goldens` rewrites the expected results; review the difference.
"""

import json
from pathlib import Path

import msgspec

from inorder.code.model import ParsedFile
from inorder.code.parse import parse

FOLDER = Path(__file__).parent / "golden"
EXPECTED = "expected.json"
LANGUAGES = sorted(folder.name for folder in FOLDER.iterdir())


def source_of(language: str) -> Path:
    """The one file in this language."""
    [source] = [path for path in (FOLDER / language).iterdir() if path.name != EXPECTED]
    return source


def expected_of(language: str) -> str:
    """The expected result for this language."""
    return (FOLDER / language / EXPECTED).read_text("utf-8")


def describe(parsed: ParsedFile) -> str:
    """All but the text, one line for each thing, so that a difference can be read."""
    facts = msgspec.to_builtins(parsed)
    facts["calls"] = [msgspec.structs.asdict(call) for call in parsed.calls]
    for chunk in facts["chunks"]:
        del chunk["text"]
    parts = []
    for name, value in facts.items():
        rows = (
            [f"\n  {json.dumps(row, ensure_ascii=False)}" for row in value] if isinstance(value, (list, tuple)) else []
        )
        parts.append(f"{json.dumps(name)}: " + (f"[{','.join(rows)}\n]" if rows else json.dumps(value)))
    return "{\n" + ",\n".join(parts) + "\n}\n"


def describe_golden(language: str) -> str:
    """What is found in it now."""
    path = source_of(language)
    return describe(parse(path.name, path.read_bytes()))


if __name__ == "__main__":
    for each in LANGUAGES:
        (FOLDER / each / EXPECTED).write_text(describe_golden(each), "utf-8")
