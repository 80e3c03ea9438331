"""Write everything in `docs/` that is generated: `make docs`.

`tests/docs/test_generated.py` compares the files with what this program would write.
"""

from collections.abc import Callable
from pathlib import Path

from bench import chart
from tools import api_reference, command_line_reference, order_picture

ROOT = Path(__file__).parents[1]

GENERATED: dict[str, Callable[[], str]] = {
    "docs/reference/command-line.md": command_line_reference.page,
    "docs/reference/api.md": api_reference.page,
    "docs/images/order-light.svg": lambda: order_picture.draw("light"),
    "docs/images/order-dark.svg": lambda: order_picture.draw("dark"),
    "docs/images/comparison-light.svg": lambda: chart.draw("light"),
    "docs/images/comparison-dark.svg": lambda: chart.draw("dark"),
}


def main() -> None:
    for name, make in GENERATED.items():
        path, text = ROOT / name, make()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name}")


if __name__ == "__main__":
    main()
