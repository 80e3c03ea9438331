"""Draw small changes of the source by a seed, and run the tests against each. Started with `make mutants`.

A change that no test notices is reported as a survivor: it needs a test, or it changes nothing that anybody can see.
First those tests run that call the changed function, the quickest first, then the other tests of its area, with those
that start processes. Which test calls which function is recorded once, in `build/mutants/calls.json`; remove the file
to record it again. Each result is a line of `build/mutants/SEED.jsonl`; a change that is there is not tried again.
"""

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.mutants.runner import ROOT, ForkServer, link_source

PACKAGE = ROOT / "src" / "inorder"
WORK = ROOT / "build" / "mutants"
CALLS = WORK / "calls.json"
TEST_S_MAX = 60
CALLING_S_MAX = 25.0
"""What the tests that call a function take together, at most; the quickest are chosen."""
TESTS_FAILED = 1
COUNTER = "index/lexical/_counter.c"
AREAS = {
    "kernel": (("core", "journal", "engines", "watch", "runtime"), ("core", "journal", "engines", "watch")),
    "stage": (("stage",), ("stage",)),
    "documents": (("documents",), ("documents",)),
    "dataset": (("dataset", "targets"), ("dataset", "targets")),
    "serve": (("serve", "report"), ("serve", "report")),
    "command-line": (("cli",), ("cli", "wiring")),
    "counter": ((COUNTER,), ("index/lexical",)),
    "index": (("index", "code"), ("index", "code")),
    "library": (("library", "pipeline"), ("library", "pipeline")),
    "host": (("host", "files", "sources", "sinks", "lanes"), ("host", "files", "sources", "sinks", "lanes")),
}
"""What is changed in each area, below the package, and the folders of its tests."""
SWAPS: dict[type[ast.AST], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in",
    ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is", ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*",
    ast.And: "or", ast.Or: "and",
}  # fmt: skip
SWAPPED_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list", "reversed": "list"}
IN_C = {
    "<": "<=", ">": ">=", "<=": "<", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", " + ": " - ",
    " - ": " + ", "+ 1": "+ 2", "return NULL": "return Py_None", "break": "continue",
}  # fmt: skip


class Change(NamedTuple):
    """A piece of a file, and what replaces it."""

    file: str
    """Below the package."""
    kind: str
    line: int
    start: int
    end: int
    """In characters of the file."""
    new: str
    function: str
    """`file:line` of the innermost function around it; empty: none."""


def list_changes(file: str) -> Iterator[Change]:
    """Every change that can be made to a file."""
    text = (PACKAGE / file).read_text("utf-8")
    if file.endswith(".c"):
        yield from _list_changes_in_c(file, text)
        return
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = text.splitlines()

    def place(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    def visit(node: ast.AST, function: str) -> Iterator[Change]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = f"inorder/{file}:{min([node.lineno, *(each.lineno for each in node.decorator_list)])}"
        for kind, begin, end, new in _changes_of(node):
            start = place(*begin)
            yield Change(file, kind, begin[0], start, place(*end), new, function)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "bases", "keywords") and name != "keywords":
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not _is_left_out(child):
                    yield from visit(child, function)

    for change in visit(ast.parse(text), ""):
        if text[change.start : change.end] != change.new:
            yield change


Place = tuple[int, int]


def _begin(node: ast.expr | ast.stmt) -> Place:
    return node.lineno, node.col_offset


def _end(node: ast.expr | ast.stmt) -> Place:
    return node.end_lineno or node.lineno, node.end_col_offset or 0


def _is_left_out(node: ast.AST) -> bool:
    """Whether it is a docstring, a block for types only, a message of an exception, or an alias of a type."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    is_typing = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
    return is_typing or isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom)


def _changes_of(node: ast.AST) -> Iterator[tuple[str, Place, Place, str]]:
    """The kind, the place and the new text of each change of one node."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield _between("compare", node.left, node.comparators[0], SWAPS[type(node.ops[0])])
    elif isinstance(node, ast.BoolOp):
        yield _between("bool", node.values[0], node.values[1], SWAPS[type(node.op)])
    elif isinstance(node, ast.BinOp) and type(node.op) in SWAPS:
        yield _between("arithmetic", node.left, node.right, SWAPS[type(node.op)])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not", _begin(node), _begin(node.operand), ""
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield "constant", _begin(node), _end(node), str(not node.value)
        elif isinstance(node.value, int | float):
            yield "constant", _begin(node), _end(node), repr(node.value + 1)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SWAPPED_CALLS:
        yield "call", _begin(node.func), _end(node.func), SWAPPED_CALLS[node.func.id]
    elif isinstance(node, ast.AugAssign) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await)
    ):
        yield "statement", _begin(node), _end(node), "pass"
    elif isinstance(node, ast.Break | ast.Continue):
        yield "jump", _begin(node), _end(node), "continue" if isinstance(node, ast.Break) else "break"
    elif isinstance(node, ast.IfExp):
        yield "branch", _begin(node), _end(node), ast.unparse(node.body)
        yield "branch", _begin(node), _end(node), ast.unparse(node.orelse)
    elif isinstance(node, ast.If | ast.While):
        yield "branch", _begin(node.test), _end(node.test), "False"
        if isinstance(node, ast.If):
            yield "branch", _begin(node.test), _end(node.test), "True"
    elif isinstance(node, ast.comprehension):
        for test in node.ifs:
            yield "filter", _begin(test), _end(test), "True"


def _between(kind: str, left: ast.expr, right: ast.expr, new: str) -> tuple[str, Place, Place, str]:
    return f"{kind}!", _end(left), _begin(right), f" {new} "


def _list_changes_in_c(file: str, text: str) -> Iterator[Change]:
    begin = text.index("static ")
    pattern = re.compile("|".join(map(re.escape, sorted(IN_C, key=len, reverse=True))))
    comments = [found.span() for found in re.finditer(r"/\*.*?\*/|//[^\n]*|\"[^\"\n]*\"|#[^\n]*", text, re.DOTALL)]
    for found in pattern.finditer(text, begin):
        is_shown = any(start <= found.start() < end for start, end in comments)
        if not is_shown and "->" not in text[found.start() - 1 : found.end() + 1]:
            line = text.count("\n", 0, found.start()) + 1
            yield Change(file, "c", line, *found.span(), IN_C[found[0]], "")


def apply_change(change: Change) -> str | None:
    """The text of the file with the change; None: it is not a program any more."""
    text = (PACKAGE / change.file).read_text("utf-8")
    old, new = text[change.start : change.end], change.new
    if change.kind.endswith("!"):  # an operator, perhaps with brackets around what is beside it
        before, operator, after = re.fullmatch(r"(\)*\s*)(.*?)(\s*\(*)", old, re.DOTALL).groups()  # type: ignore[union-attr]
        new = f"{before}{new.strip()}{after}" if operator and "#" not in old else old
    changed = f"{text[: change.start]}{new}{text[change.end :]}"
    if changed == text:
        return None
    if not change.file.endswith(".c"):
        try:
            ast.parse(changed)
        except SyntaxError:
            return None
    return changed


def draw(area: str, count: int, seed: int) -> list[Change]:
    """Draw changes of an area: of each kind by turns, from any file."""
    kinds: dict[str, list[Change]] = defaultdict(list)
    for file in _list_files(area):
        for change in list_changes(file):
            kinds[change.kind].append(change)
    chance = random.Random(f"{seed} {area}")
    for changes in kinds.values():
        chance.shuffle(changes)
    drawn: list[Change] = []
    while len(drawn) < count and any(kinds.values()):
        for changes in kinds.values():
            while changes and len(drawn) < count:
                change = changes.pop()
                if apply_change(change) is not None:
                    drawn.append(change)
                    break
    return drawn


def _list_files(area: str) -> list[str]:
    found = []
    for place in AREAS[area][0]:
        path = PACKAGE / place
        paths = [path] if path.is_file() else sorted(path.rglob("*.py"))
        found += [str(each.relative_to(PACKAGE)) for each in paths]
    return found


@cache
def _read_calls() -> dict[str, dict[str, list[str]]]:
    if not CALLS.exists():
        CALLS.parent.mkdir(parents=True, exist_ok=True)
        left_out = ("mutants", "crash", "ray", "browser", "bench", "packaging", "connectors", "docs", "tidy")
        command = [sys.executable, "-m", "pytest", "-q", "--requirements=off", "-p", "tests.mutants.calls_plugin"]
        command += ["-m", "not process", *(f"--ignore=tests/{name}" for name in left_out), "tests"]
        subprocess.run(command, cwd=ROOT, env=os.environ | {"CALLS_FILE": str(CALLS)}, check=False)
    found: dict[str, dict[str, list[str]]] = json.loads(CALLS.read_text("utf-8"))
    return found


def choose_tests(change: Change) -> list[str]:
    """The tests that call the changed function, or the module, the quickest first."""
    calls = _read_calls()
    functions, seconds = calls["functions"], calls["seconds"]
    name = "index/lexical/compiled_counter.py" if change.file == COUNTER else change.file
    found = set(functions.get(change.function, ()))
    if not change.function:
        found = {test for key, tests in functions.items() if key.startswith(f"inorder/{name}:") for test in tests}
    chosen, total = [], 0.0
    folder = change.file.partition("/")[0]
    for test in sorted(found, key=lambda test: (not test.startswith(f"tests/{folder}/"), float(seconds[test]))):  # type: ignore[arg-type]
        total += float(seconds[test])  # type: ignore[arg-type]
        if total > CALLING_S_MAX and chosen:
            break
        chosen.append(test)
    return chosen


def list_other_tests(area: str, change: Change) -> list[str]:
    """The files of tests of the area, those of the same name and folder first."""
    words = set(re.split(r"[/_.]", change.file)) - {"py", "test"}
    files = [path for folder in AREAS[area][1] for path in sorted((ROOT / "tests" / folder).rglob("test_*.py"))]
    shared = {path: len(words & set(re.split(r"[/_.]", str(path.relative_to(ROOT / "tests"))))) for path in files}
    return [str(path) for path in sorted(files, key=lambda path: -shared[path])]


class Trials:
    """Runs tests against a changed copy of the source."""

    def __init__(self, server: ForkServer, place: Path) -> None:
        self._server = server
        self._place = place
        self._source = link_source(place)

    def run(self, area: str, change: Change, *, is_wide: bool) -> str:
        """How a change ended: `caught` with the first test that failed, or `survived`."""
        changed = apply_change(change)
        assert changed is not None
        file = self._source / "inorder" / change.file
        undo = self._replace(file, changed)
        try:
            tests = choose_tests(change)
            found = self._run_tests(tests)
            if not found and is_wide:
                found = self._run_tests(["-m", "process or slow", *list_other_tests(area, change)[:6]])
        finally:
            undo()
        return found or ("survived" if tests else "survived: no recorded test calls it")

    def _replace(self, file: Path, text: str) -> "Undo":
        compiled = [*(file.parent / "__pycache__").glob(f"{file.stem}.*")]
        if file.suffix == ".c":
            compiled = [*file.parent.glob("_counter.*.so")]
        kept = {path: path.read_bytes() for path in (file, *compiled)}
        for path in kept:
            path.unlink()
        file.write_text(text, "utf-8")
        if file.suffix == ".c":
            self._compile(file, compiled[0])
        return Undo(kept)

    def _compile(self, file: Path, target: Path) -> None:
        import sysconfig

        include = sysconfig.get_paths()["include"]
        command = ["cc", "-shared", "-fPIC", "-O1", "-w", f"-I{include}", str(file), "-o", str(target)]
        subprocess.run(command, check=False, capture_output=True)

    def _run_tests(self, tests: Sequence[str]) -> str:
        if not tests:
            return ""
        arguments = ["-x", "-q", "-p", "no:cacheprovider", "--requirements=off", "--timeout", str(TEST_S_MAX)]
        run = self._server.run_tests(self._source, self._place, *tests, *arguments)
        if run.code in (0, 5):
            return ""
        failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", run.output, re.MULTILINE)
        return f"caught by {failed[0] if failed else f'exit code {run.code}'}"


class Undo(NamedTuple):
    """Puts files back."""

    kept: dict[Path, bytes]

    def __call__(self) -> None:
        """Write them as new files: the copy consists of links to the source."""
        for path, content in self.kept.items():
            path.unlink(missing_ok=True)
            path.write_bytes(content)


def main() -> int:
    """Draw changes, try those that were not tried, and print what survived."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=600, help="of all areas together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--area", action="append", choices=list(AREAS), help="default: all")
    parser.add_argument("--wide", action="store_true", help="try survivors on tests that start processes, too")
    options = parser.parse_args()
    areas = options.area or list(AREAS)
    os.nice(19 - os.nice(0))
    _read_calls()
    log = WORK / f"{options.seed}.jsonl"
    log.touch()
    known = {(each["file"], each["start"], each["new"]): each for each in map(json.loads, log.read_text().splitlines())}
    place = Path(tempfile.mkdtemp(prefix="inorder-mutants-"))
    server = ForkServer()
    trials = Trials(server, place)
    drawn = {area: draw(area, options.count // len(areas), options.seed) for area in areas}
    turns = [(area, drawn[area][turn]) for turn in range(options.count) for area in areas if turn < len(drawn[area])]
    try:
        for area, change in turns:
            before = known.get((change.file, change.start, change.new))
            if before is not None and (
                before["is_wide"] or not options.wide or not before["result"].startswith("survived")
            ):
                continue
            result = trials.run(area, change, is_wide=options.wide)
            row = change._asdict() | {"area": area, "result": result, "is_wide": options.wide}
            known[change.file, change.start, change.new] = row
            with log.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(row)}\n")
    finally:
        server.close()
        shutil.rmtree(place, ignore_errors=True)
    report(drawn, known)
    return 0


def report(drawn: dict[str, list[Change]], known: dict[tuple[str, int, str], dict[str, str]]) -> None:
    """Print the survivors, and a table of areas."""
    for area, changes in drawn.items():
        results = [(change, known[change.file, change.start, change.new]["result"]) for change in changes]
        for change, result in results:
            if result.startswith("survived"):
                text = (PACKAGE / change.file).read_text("utf-8")
                old = " ".join(text[change.start : change.end].split())
                print(f"{change.file}:{change.line}: {old!r} -> {change.new.strip()!r} {result}")
        caught = sum(not result.startswith("survived") for _, result in results)
        print(f"{area}: {caught} of {len(results)} caught")


if __name__ == "__main__":
    sys.exit(main())
