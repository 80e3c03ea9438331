"""The requirements plugin, seen from outside: a small project, a run of pytest, its output and its exit status."""

from pathlib import Path

import pytest

from tests.support.python_path import prepend_path

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]
LISTED = """
LED-1 = { status = "landed", title = "first" }
LED-2 = { status = "landed", title = "second", note = "half of it" }
LAN-1 = { status = "open", title = "later" }
LAN-2 = { status = "open", title = "much later" }
"""
FAILED_LINE = "FAILED: landed requirements without a passing test: "
BOTH_WAYS = pytest.mark.parametrize(
    "workers",
    [pytest.param((), id="one process"), pytest.param(("-n", "2"), id="two workers", marks=pytest.mark.process)],
)


class Project:
    """A project with its own requirements, on which pytest runs within this process."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self._pytester = pytester
        pytester.makeini("[pytest]\naddopts = --strict-markers\n")
        pytester.makeconftest('pytest_plugins = ["tests.support.requirements_plugin"]')
        self.list_requirements(LISTED)

    def list_requirements(self, text: str) -> None:
        (self._pytester.path / "requirements.toml").write_text(text, encoding="utf-8")

    def run(self, source: str, *arguments: str) -> pytest.RunResult:
        self._pytester.makepyfile(f"import pytest\n{source}")
        return self._pytester.runpytest_inprocess(*arguments)


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("PYTHONPATH", prepend_path(REPOSITORY))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    return Project(pytester)


ALL_PROVEN = """
@pytest.mark.req("LED-1", "LED-2")
def test_both(): pass

@pytest.mark.req("LED-1")
def test_one(): pass
"""

SECOND_UNPROVEN = """
@pytest.mark.req("LED-1")
def test_one(): pass
"""


@BOTH_WAYS
def test_an_unknown_id_fails_the_run_and_names_the_test(project: Project, workers: tuple[str, ...]) -> None:
    source = '@pytest.mark.req("LED-1", "LED-99")\ndef test_it(): pass'
    result = project.run(source, "--requirements=off", *workers)
    assert result.ret == (pytest.ExitCode.TESTS_FAILED if workers else pytest.ExitCode.INTERRUPTED)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*::test_it: unknown requirement id 'LED-99'*"])


@pytest.mark.parametrize("arguments", ["", "note='x'", "'LED-1', note='x'"])
def test_a_mark_that_is_not_a_list_of_ids_fails_the_run(project: Project, arguments: str) -> None:
    result = project.run(f"@pytest.mark.req({arguments})\ndef test_it(): pass")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*::test_it: a req mark takes one or more requirement ids*"])


def test_ids_given_as_a_list_are_refused_as_unknown(project: Project) -> None:
    result = project.run('@pytest.mark.req(["LED-1"])\ndef test_it(): pass')
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*unknown requirement id*LED-1*"])


def test_passing_tests_prove_what_they_are_marked_with(project: Project) -> None:
    result = project.run(ALL_PROVEN, "--requirements=enforce")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["proven 2: LED-1 (2) LED-2 (1)", "open 2: LAN-1 LAN-2"])
    result.stdout.no_fnmatch_line("*unproven*")


@BOTH_WAYS
def test_a_landed_id_without_a_test_fails_when_enforced(project: Project, workers: tuple[str, ...]) -> None:
    result = project.run(SECOND_UNPROVEN, "--requirements=enforce", *workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["landed but unproven 1: LED-2", FAILED_LINE + "LED-2"])


def test_a_landed_id_without_a_test_is_only_reported_by_default(project: Project) -> None:
    result = project.run(SECOND_UNPROVEN)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["landed but unproven 1: LED-2"])
    result.stdout.no_fnmatch_line(FAILED_LINE + "*")


def test_off_prints_no_table(project: Project) -> None:
    result = project.run(SECOND_UNPROVEN, "--requirements=off")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.no_fnmatch_line("*proven*")


def test_collecting_alone_is_not_judged(project: Project) -> None:
    result = project.run(SECOND_UNPROVEN, "--requirements=enforce", "--collect-only")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.no_fnmatch_line("*proven*")


@pytest.mark.parametrize(
    "body",
    [
        "assert False",
        "pytest.skip('not here')",
        "pytest.xfail('known')",
    ],
)
def test_a_test_that_did_not_pass_proves_nothing(project: Project, body: str) -> None:
    source = f'{SECOND_UNPROVEN}\n@pytest.mark.req("LED-2")\ndef test_two():\n    {body}'
    result = project.run(source, "--requirements=enforce")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["proven 1: LED-1 (1)", FAILED_LINE + "LED-2"])


@pytest.mark.parametrize("mark", ["xfail(strict=False)", "skip"])
def test_a_test_marked_as_not_counting_proves_nothing(project: Project, mark: str) -> None:
    source = f'{SECOND_UNPROVEN}\n@pytest.mark.{mark}\n@pytest.mark.req("LED-2")\ndef test_two(): pass'
    result = project.run(source, "--requirements=enforce")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([FAILED_LINE + "LED-2"])


def test_a_broken_fixture_proves_nothing(project: Project) -> None:
    source = '@pytest.mark.req("LED-1", "LED-2")\ndef test_two(missing_fixture): pass'
    result = project.run(source, "--requirements=enforce")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([FAILED_LINE + "LED-1 LED-2"])


@BOTH_WAYS
def test_marks_on_modules_classes_and_parameters_count(project: Project, workers: tuple[str, ...]) -> None:
    source = """
pytestmark = pytest.mark.req("LED-1")

@pytest.mark.req("LED-2")
class TestAll:
    @pytest.mark.req("LED-2")
    def test_in_class(self): pass

@pytest.mark.parametrize("n", [1, pytest.param(2, marks=pytest.mark.req("LAN-2"))])
def test_with_parameters(n): pass
"""
    result = project.run(source, "--requirements=enforce", *workers)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        ["proven 2: LED-1 (3) LED-2 (1)", "open, already has passing tests 1: LAN-2 (1)", "open 1: LAN-1"]
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("LED-1 = [", "requirements.toml: *(at *)"),
        ("led1 = { status = 'open', title = 'x' }", "requirements.toml: 'led1' is not a requirement id*"),
        ("LED-1 = 'open'", "requirements.toml: LED-1 must be a table*"),
        ("LED-1 = { status = 'done', title = 'x' }", "requirements.toml: LED-1 needs a status*"),
        (
            "LED-1 = { status = ['open'], title = 'x' }",
            "requirements.toml: LED-1 needs a title; every field is a string",
        ),
        ("LED-1 = { status = 'open' }", "requirements.toml: LED-1 needs a title*"),
        ("LED-1 = { status = 'open', title = 'x', owner = 'y' }", "requirements.toml: LED-1 has unknown fields: owner"),
    ],
)
def test_a_malformed_list_is_one_clear_line(project: Project, text: str, complaint: str) -> None:
    project.list_requirements(text)
    result = project.run("def test_it(): pass")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines if line]
    assert line.startswith("ERROR: requirements.toml: ")
    result.stderr.fnmatch_lines([f"ERROR: {complaint}"])
