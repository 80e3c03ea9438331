"""Count the words of this project's own pages, with three troublemakers among them.

    python examples/demo.py

One page takes longer than it may, one cannot be read, one fails twice before it works. Everything else arrives, in
order, and the run says what became of those three.
"""

import sys
import threading
import time
from pathlib import Path

import inorder

PAGES = Path(__file__).resolve().parent.parent / "docs"
SLOW, BROKEN, FLAKY = "backpressure.md", "no-such-page.md", "windows.md"
TIME_LIMIT_S = 1.0

attempts: dict[str, int] = {}
lock = threading.Lock()


def count_words(page: Path) -> str:
    """The work: read a page and count its words."""
    with lock:
        attempts[page.name] = attempts.get(page.name, 0) + 1
    if page.name == SLOW:
        time.sleep(60)
    if page.name == FLAKY and attempts[page.name] <= 2:
        raise ConnectionError("the storage hiccupped")
    return f"{len(page.read_text(encoding='utf-8').split()):>6} words"


def main() -> int:
    """Run it and print a line a page, in order."""
    pages = sorted(PAGES.rglob("*.md"))
    pages.insert(3, PAGES / BROKEN)
    began = time.perf_counter()
    results = inorder.imap(
        count_words, pages, workers=4, timeout_s=TIME_LIMIT_S, retries=2, errors="yield", where="threads"
    )
    failed = 0
    for page, result in zip(pages, results, strict=True):
        if isinstance(result, inorder.ItemError):
            failed += 1
            result = f"FAILED ({result.category}, attempt {result.attempts}): {result.message.splitlines()[0]}"
        print(f"{page.relative_to(PAGES)!s:52} {result}")
    seconds = time.perf_counter() - began
    print(f"\n{len(pages)} pages in order, {failed} failed, {attempts[FLAKY] - 1} retries, {seconds:.1f} s")
    return 0 if failed == 2 else 1


if __name__ == "__main__":
    sys.exit(main())
