"""Every public name can be found, and has a docstring with an example that runs."""

import builtins
import doctest
import importlib
import inspect
import sys
from pathlib import Path

import pytest

import inorder
from tools.api_reference import MODULES, list_public_names


def public_names() -> list[tuple[str, str]]:
    return [
        (module, name)
        for module in MODULES
        for name in list_public_names(importlib.import_module(module))
        if callable(getattr(importlib.import_module(module), name))
    ]


def examples_of(module: str, name: str) -> doctest.DocTest:
    value = getattr(importlib.import_module(module), name)
    public = vars(inorder) | {each: getattr(inorder, each) for each in inorder.__all__}
    names = public | vars(sys.modules[value.__module__]) | vars(importlib.import_module(module))
    return doctest.DocTestParser().get_doctest(inspect.getdoc(value) or "", dict(names), name, module, 0)


@pytest.mark.parametrize("module", MODULES)
def test_dir_lists_every_public_name(module: str) -> None:
    loaded = importlib.import_module(module)
    assert set(loaded.__all__) <= set(dir(loaded))
    for name in loaded.__all__:
        assert getattr(loaded, name) is not None


def test_dir_of_the_package_lists_nothing_else() -> None:
    assert dir(inorder) == sorted([*inorder.__all__, "open"])


@pytest.mark.parametrize("module", MODULES)
def test_importing_everything_shadows_no_builtin(module: str) -> None:
    names: dict[str, object] = {}
    exec(f"from {module} import *", names)
    assert names.keys() & vars(builtins).keys() <= {"__builtins__", "__doc__", "__name__"}
    assert set(importlib.import_module(module).__all__) <= names.keys()


@pytest.mark.req("API-1")
def test_the_public_names_fit_one_page() -> None:
    assert len(list_public_names(inorder)) <= 30


@pytest.mark.parametrize(
    ("name", "home"),
    [("Chunk", "inorder.dataset"), ("Lane", "inorder.lanes"), ("InvariantViolation", "inorder.errors")],
)
def test_a_name_that_moved_is_found_with_a_warning(name: str, home: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"inorder.{name} is now {home}.{name}; the old name goes in 0.4"):
        found = getattr(inorder, name)
    assert found is getattr(importlib.import_module(home), name)


def list_examples() -> list[object]:
    """Every public name as a case. The harness for sinks kills a process, and items of `imap` run in processes."""
    process = {True: [pytest.mark.process], False: []}
    return [pytest.param(*each, marks=process[each[1] in ("Imap", "SinkHarness", "imap")]) for each in public_names()]


@pytest.mark.parametrize(("module", "name"), list_examples())
def test_a_public_name_has_an_example_that_runs(
    module: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    test = examples_of(module, name)
    assert test.examples, f"{module}.{name} has no example in its docstring"
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    assert result.failed == 0, "".join(report)
    assert list(tmp_path.iterdir()) == []


def test_every_error_is_an_inorder_error() -> None:
    errors = [value for name in inorder.__all__ if inspect.isclass(value := getattr(inorder, name))]
    errors = [value for value in errors if issubclass(value, Exception)]
    assert len(errors) >= 7
    assert all(issubclass(error, inorder.InorderError) for error in errors)
    assert issubclass(inorder.OperatorError, ValueError)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'inorder' has no attribute 'imapp'"):
        inorder.imapp  # noqa: B018
