"""Counts the lines of `src`, without blank lines and docstrings: Python and C.

python -m tools.count_lines [FOLDER]
"""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SUFFIXES = (".py", ".pyi", ".c", ".h")


def count_lines(path: Path) -> int:
    """The lines of a file that are neither blank nor, in Python, part of a docstring."""
    text = path.read_text(encoding="utf-8")
    left_out = find_docstring_lines(text) if path.suffix in (".py", ".pyi") else set[int]()
    lines = enumerate(text.splitlines(), start=1)
    return sum(bool(line.strip()) and number not in left_out for number, line in lines)


def find_docstring_lines(source: str) -> set[int]:
    """The numbers of the lines of all strings that stand alone: docstrings, also those of attributes."""
    return {
        number
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def main() -> None:
    """Print the lines of each kind of file, and of all."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "src"
    counts = {suffix: sum(map(count_lines, folder.rglob(f"*{suffix}"))) for suffix in SUFFIXES}
    for name, count in (counts | {"all": sum(counts.values())}).items():
        print(f"{name:5}{count:8,}")


if __name__ == "__main__":
    main()
