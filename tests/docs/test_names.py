"""Links lead somewhere, and every file, module, test and make target that a page names exists."""

import importlib
import re
from collections import Counter
from functools import cache

import pytest

from inorder.extensions.registry import CONTRACTS
from tests.docs.pages import ROOT, files, pages, read

_LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
_CODE = re.compile(r"`([^`\n]+)`")
_FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_PATH = re.compile(r"^(?:src|tests|bench|examples|docs|tools)/[\w./*-]*$")
_FILE = re.compile(r"^[\w-]+(?:/[\w.-]+)*\.(?:py|md|svg)$")
_DOTTED = re.compile(r"^inorder(?:\.[A-Za-z_]\w*)+$")

NOT_OURS = {"sub.py", "job.py", "fetch.py", "squares.py", "cluster.svg", "worker.py"}
"""Files that a reader makes while following a page."""
NOT_MODULES = ("inorder.toml", "inorder.schema", "inorder.cfg_hash", *(f"inorder.{kind}" for kind in CONTRACTS))
"""What looks like a module: a settings file, keys of Parquet files, and groups of entry points."""


def code_spans(page: str) -> list[str]:
    return _CODE.findall(_FENCE.sub("", read(page)))


def anchors(page: str) -> set[str]:
    """As GitHub makes them: a heading that occurs again gets a number."""
    headings = re.findall(r"^#+ (.*)$", _FENCE.sub("", read(page)), re.MULTILINE)
    found = [re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings]
    numbered = {f"{name}-{number}" for name, count in Counter(found).items() for number in range(1, count)}
    return numbered | set(found)


def is_instrument(name: str) -> bool:
    return f"| `{name}` |" in read("docs/specs/observability.md")


@pytest.mark.parametrize("page", pages())
def test_relative_links_lead_to_files_and_headings(page: str) -> None:
    targets = [match[1] or match[2] for match in _LINK.finditer(_FENCE.sub("", read(page)))]
    relative = [target for target in targets if not target.startswith(("http:", "https:", "mailto:"))]
    assert [target for target in relative if not leads_somewhere(page, target)] == []


def leads_somewhere(page: str, target: str) -> bool:
    name, _, anchor = target.partition("#")
    path = ((ROOT / page).parent / name).resolve() if name else ROOT / page
    return path.exists() and (not anchor or anchor in anchors(str(path.relative_to(ROOT))))


@pytest.mark.process
@pytest.mark.parametrize("page", [page for page in pages() if page != "CHANGELOG.md"])
def test_paths_in_code_spans_exist(page: str) -> None:
    assert [span for span in code_spans(page) if not exists(span)] == []


def exists(span: str) -> bool:
    """True for what is not a path of ours, too."""
    if _PATH.match(span):
        return any(ROOT.glob(span.rstrip("/")))
    if _FILE.match(span) and span not in NOT_OURS:
        return any(name == span or name.endswith(f"/{span}") for name in files())
    return True


@pytest.mark.parametrize("page", [page for page in pages() if page != "CHANGELOG.md"])
def test_dotted_names_resolve(page: str) -> None:
    words = re.findall(r"\binorder(?:\.[A-Za-z_]\w*)+", read(page))
    names = {word for word in words if _DOTTED.match(word) and not word.startswith(NOT_MODULES)}
    assert [name for name in sorted(names) if not is_instrument(name) and not resolves(name)] == []


def resolves(name: str) -> bool:
    """Whether a module, or an attribute of one, has this name."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[length:]:
            if not hasattr(found, attribute):
                return False
            found = getattr(found, attribute)
        return True
    return False


@pytest.mark.parametrize("page", pages())
def test_make_targets_exist(page: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", read_makefile(), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)", read(page))) | set(re.findall(r"^    make ([a-z-]+)", read(page), re.M))
    assert named - targets == set()


def read_makefile() -> str:
    return (ROOT / "Makefile").read_text(encoding="utf-8")


_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
NOT_OUR_FLAGS = {"--head", "--port", "--address", "--no-deps", "--wheel-dir", "--html", "--pages"}
"""Options of `ray start`, of pip and of benchmarks."""


@pytest.mark.parametrize("page", [page for page in pages() if page not in ("CHANGELOG.md", "docs/upgrading.md")])
def test_options_of_commands_exist(page: str) -> None:
    named = set(_FLAG.findall(read(page))) - NOT_OUR_FLAGS
    assert named - options_of_inorder() - options_of_the_simulator() == set()


def options_of_inorder() -> set[str]:
    return set(_FLAG.findall(read("docs/reference/command-line.md"))) | {"--help", "--set"}


@cache
def options_of_the_simulator() -> set[str]:
    sources = [path for folder in ("src/inorder/sim", "bench/cluster") for path in (ROOT / folder).rglob("*.py")]
    texts = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    fields = re.findall(r"^    (\w+): (?:int|float|str|bool)", texts, re.MULTILINE)
    return set(re.findall(r"\"(--[a-z-]+)\"", texts)) | {f"--{name.replace('_', '-')}" for name in fields}
