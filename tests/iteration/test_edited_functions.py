"""What `imap(journal=)` takes for an edit of its function, and what it does not."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest

from inorder import OperatorError, imap

pytestmark = pytest.mark.req("API-2")

LIBRARY = """
    import functools
    FACTOR = 1

    def scale(number): return number * FACTOR
    def pass_on(function, number): return function(number)

    def wrap(function):
        @functools.wraps(function)
        def inner(number): return function(number) * FACTOR
        return inner

    def enclose(function):
        return lambda number: function(number)
"""
EDITS = {
    "lru_cache": ("@functools.lru_cache\ndef work(n): return n * 2", "n * 2", "n * 3"),
    "lru_cache beneath": ("@functools.lru_cache\ndef of(n): return n * 2\ndef work(n): return of(n)", "n * 2", "n * 3"),
    "wraps": ("@wrap\ndef work(n): return n * 2", "n * 2", "n * 3"),
    "wraps beneath": ("@wrap\ndef of(n): return n * 2\ndef work(n): return of(n)", "n * 2", "n * 3"),
    "a wrapper without wraps": ("def of(n): return n * 2\nwork = enclose(of)", "n * 2", "n * 3"),
    "a partial of another module": ("def of(n): return n * 2\nwork = partial(pass_on, of)", "n * 2", "n * 3"),
    "a set in a partial": ("def of(by, n): return n in by\nwork = partial(of, {2})", "{2}", "{3}"),
    "constant": ("RATE = 2\ndef work(n): return n * RATE", "= 2", "= 3"),
    "constant in small letters": ("rate = 2.5\ndef work(n): return n * rate", "2.5", "3.5"),
    "constant beneath": ("RATE = 2\ndef of(n): return n * RATE\ndef work(n): return of(n)", "= 2", "= 3"),
    "dict": ("RATES = {'a': [2]}\ndef work(n): return n * RATES['a'][0]", "[2]", "[3]"),
    "set": ("WORDS = {'a', 'b', 'c'}\ndef work(n): return n in WORDS", "'c'", "'d'"),
    "pattern": ("NAME = re.compile('a+')\ndef work(n): return NAME.match(str(n))", "a+", "b+"),
    "functions in a tuple": (
        "def of(n): return n * 2\nSTEPS = (of,)\ndef work(n): return STEPS[0](n)",
        "n * 2",
        "n * 3",
    ),
    "method": ("class Of:\n  def go(self, n): return n * 2\ndef work(n): return Of().go(n)", "n * 2", "n * 3"),
    "class attribute": ("class Of:\n  rate = 2\ndef work(n): return n * Of.rate", "= 2", "= 3"),
    "base class": (
        "class Base:\n  def go(self, n): return n * 2\nclass Of(Base): pass\ndef work(n): return Of().go(n)",
        "n * 2",
        "n * 3",
    ),
    "property": (
        "class Of:\n  @property\n  def by(self): return 2\ndef work(n): return n * Of().by",
        "return 2",
        "return 3",
    ),
    "a class": ("class work:\n  def __init__(self, n): self.n = n * 2", "n * 2", "n * 3"),
    "beneath __call__": (
        "class Of:\n  def __call__(self, n): return self.go(n)\n  def go(self, n): return n * 2\nwork = Of()",
        "n * 2",
        "n * 3",
    ),
    "attribute of an object": (
        "class Of:\n  def __init__(self, by): self.by = by\n  def __call__(self, n): return n * self.by\nwork = Of(2)",
        "Of(2)",
        "Of(3)",
    ),
    "bound method": ("class Of:\n  def go(self, n): return n * 2\nwork = Of().go", "n * 2", "n * 3"),
    "enum": ("class Of(enum.Enum):\n  A = 2\ndef work(n): return n * Of.A.value", "= 2", "= 3"),
    "dataclass": (
        "@dataclass(frozen=True)\nclass Of:\n  by: int\nOF = Of(2)\ndef work(n): return n * OF.by",
        "Of(2)",
        "Of(3)",
    ),
    "except clause": (
        "def work(n):\n  try:\n    n / n\n    return n\n  except ValueError: return 0",
        "    n / n\n    return n",
        "    n / n\n  except ZeroDivisionError: raise\n  else: return n\n  try: pass",
    ),
}
SAME = {
    "comment and docstring": ("def work(n):\n  return n * 2", "  return n * 2", "  'Twice.'\n  return n * 2  # twice"),
    "docstring of a method": (
        "class Of:\n  def go(self, n):\n    return n\ndef work(n): return Of().go(n)",
        "    return n",
        "    'Go.'\n    return n",
    ),
    "a local name": ("def work(n):\n  of = n * 2\n  return of", "of", "it"),
    "what it does not use": ("RATE = 2\ndef of(n): return n\ndef work(n): return n", "= 2\ndef of(n): return n", "= 3"),
    "what code assigns to": (
        "count = 0\ndef work(n):\n  global count\n  count += 1\n  return n",
        "count = 0",
        "count = 7",
    ),
    "a list in small letters": ("seen = []\ndef work(n):\n  seen.append(n)\n  return n", "= []", "= [7]"),
    "a counter of an object": (
        "class Of:\n  n = 0\n  def __call__(self, n):\n    self.n += 1\n    return n\nwork = Of()",
        "work = Of()",
        "work = Of()\nwork.n = 7",
    ),
    "a proxy that stands for nothing": (
        "class Proxy:\n  @property\n  def __class__(self): raise RuntimeError\n"
        "proxy = Proxy()\ndef work(n, by=proxy): return n if n else proxy",
        "return n if n",
        "return n if n",
    ),
    "another module": ("def work(n): return scale(n)", "def work", "library.FACTOR = 2\ndef work"),
}


def load(source: str) -> Callable[[int], Any]:
    """Return the function of a module with this source."""
    library = ModuleType("library")
    exec(dedent(LIBRARY), vars(library))
    module = ModuleType("program")
    imports = "import enum, functools, re\nfrom dataclasses import dataclass\nfrom functools import partial\n"
    vars(module).update(vars(library), library=library, __name__="program")
    sys.modules["program"] = module  # dataclass looks for it
    exec(imports + source, vars(module))
    work: Callable[[int], Any] = vars(module)["work"]
    return work


def go_on(path: Path, source: str, before: str, after: str) -> list[Any]:
    """Begin with one source, and go on with the other."""
    assert before in source
    for each in (source, source.replace(before, after)):
        with imap(load(each), [1, 2, 3], where="inline", journal=path, errors="yield") as results:
            found = [str(next(results)), str(next(results))]
    return found


@pytest.fixture(autouse=True)
def clean_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "program", ModuleType("program"))


@pytest.mark.parametrize("case", EDITS)
def test_an_edit_of_what_the_results_depend_on_is_noticed(case: str, tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match=r"the code of .*, or a constant that it uses, has changed since the jour"):
        go_on(tmp_path / "journal", *EDITS[case])


@pytest.mark.parametrize("case", SAME)
def test_an_edit_of_anything_else_is_none(case: str, tmp_path: Path) -> None:
    assert len(go_on(tmp_path / "journal", *SAME[case])) == 2


@pytest.mark.parametrize("case", EDITS)
def test_the_same_source_is_no_edit(case: str, tmp_path: Path) -> None:
    source, before, _ = EDITS[case]
    assert len(go_on(tmp_path / "journal", source, before, before)) == 2


def test_an_object_that_items_have_changed_is_the_same_in_the_same_program(tmp_path: Path) -> None:
    work = load("cached = None\ndef work(n):\n  global cached\n  cached = cached or str(n)\n  return cached")
    with imap(work, [1, 2], where="inline", journal=tmp_path / "journal") as results:
        assert next(results) == "1"
    assert list(imap(work, [1, 2], where="inline", journal=tmp_path / "journal")) == ["1", "1"]


@pytest.mark.process
def test_a_function_is_the_same_in_every_process_and_with_every_hash_seed(tmp_path: Path) -> None:
    program = """
        import enum, functools, inorder
        from typing import NamedTuple
        RATES = {"b": {"x", "y", "z"}, "a": frozenset({"q", "r", "s"})}
        class Of(enum.Enum):
            A = "a"
        class Row(NamedTuple):
            name: str = "n"
        class Parser:
            words = {"k", "l", "m"}
            @functools.cached_property
            def first(self): return sorted(self.words)[0]
        PARSER = Parser()
        def scale(rates, words, item):
            return (item, Of.A.value, Row().name, PARSER.first, item in {"t", "u", "v"}, sorted(RATES["b"]))
        work = functools.partial(scale, {"d": 1, "c": object()}, {"e", "f", "g"})
        for number, result in enumerate(inorder.imap(work, "abcd", where="inline", journal="journal")):
            print(result[0])
            if number:
                break
    """
    (tmp_path / "program.py").write_text(dedent(program))
    shown = []
    for seed in ("1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "program.py"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert not done.stderr
        shown.append(done.stdout.split())
    assert shown == [["a", "b"], ["b", "c"], ["c", "d"]]


def test_a_journal_of_another_python_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from inorder.runtime import function_identity

    path = tmp_path / "journal"
    with monkeypatch.context() as patch:
        patch.setattr(function_identity, "PYTHON", "cpython-3.99")
        go_on(path, "def work(n): return n", "n", "n")
    with pytest.raises(OperatorError, match=r"was created by another Python, and compiled code cannot be compared; to"):
        go_on(path, "def work(n): return n", "n", "n")
