"""Stages that cannot be loaded, and plans that cannot be made: one clear line, exit code 2, nothing done."""

import pytest

from tests.support.command_line import CommandLine
from tests.support.python_path import prepend_path

pytestmark = [pytest.mark.req("CLI-3"), pytest.mark.process]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("jobs", "invalid stage 'jobs'; write package.module:name"),
        ("jobs:", "invalid stage 'jobs:'"),
        ("jbos:count", "no module named jbos, neither in the current directory nor among the installed packages"),
        ("no.such.package:count", "no module named no.such.package"),
        ("jobs:cuont", "jobs has no attribute 'cuont'; stages in it: breaking, broken, chatty, count, "),
        ("jobs:not_a_stage", "jobs:not_a_stage must be an inorder.Stage, got int; stages in it: "),
        ("faulty:stage", "cannot import faulty: ZeroDivisionError: division by zero"),
        ("leaving:stage", "cannot import leaving: SystemExit: 7"),
        ("hungry:stage", "cannot import hungry: ModuleNotFoundError: No module named 'no_such_library'"),
        ("plain:stage", "plain has no attribute 'stage'; stages in it: none"),
        ("jobs:broken", "cannot make the plan of stage broken: LookupError: no items today"),
        ("jobs:misnamed", "the plan of stage misnamed has the name 'count'; both names must be equal"),
        ("planless:stage", "the plan of stage planless must be a StagePlan, got list"),
    ],
)
def test_what_cannot_be_loaded_is_named(cli: CommandLine, entry: str, said: str) -> None:
    cli.sources("one")
    cli.write("faulty.py", "1 / 0")
    cli.write("leaving.py", "raise SystemExit(7)")
    cli.write("hungry.py", "import no_such_library")
    cli.write("plain.py", "")
    cli.write(
        "planless.py", "import inorder\nstage = inorder.Stage(name='planless', plan=lambda s, d: [], worker=print)"
    )
    ended = cli.run_in_process("stage", entry, "sources")
    assert (ended.code, ended.out) == (2, "")
    [line] = ended.err.splitlines()
    assert line.startswith(f"inorder: {said}")
    assert not cli.data.exists()


def test_a_source_that_is_not_there_is_named(cli: CommandLine) -> None:
    ended = cli.run_in_process("stage", "jobs:count", "sources", "elsewhere")
    assert ended.code == 2
    assert ended.err == f"inorder: no such file or directory: {cli.folder / 'elsewhere'}\n"


def test_a_plan_that_breaks_off_ends_the_run_and_what_is_done_stays(cli: CommandLine) -> None:
    cli.sources("one", "two")
    ended = cli.stage_in_process("breaking")
    assert ended.code == 2
    last = ended.err.splitlines()[-1]
    assert last == "inorder: the plan of stage breaking failed at item 2: LookupError: the list was cut off"


def test_a_plan_that_is_read_once_is_made_again_when_it_has_changed_since_the_interruption(cli: CommandLine) -> None:
    cli.sources("one", "two")
    cli.held("2.txt")
    program = cli.start("stage", "jobs:lazy", "sources", "--workers", "1")
    cli.is_held("2.txt", committed=2, stage="lazy")
    program.kill()
    program.wait()
    cli.source("2.txt", "three")
    cli.source("00.txt", "a new first one")
    ended = cli.stage("lazy", "--json")
    assert (ended.code, ended.json["scheduled"]) == (0, 4)


@pytest.mark.parametrize(
    ("stage", "code", "said"),
    [
        ("timid", 1, "cannot start a worker process: the function cannot be loaded: RuntimeError: not in a process"),
        ("held", 2, "the worker of stage held cannot be sent to a worker process (TypeError: cannot pickle"),
    ],
)
def test_a_stage_that_processes_cannot_have_is_told_in_one_line(
    cli: CommandLine, stage: str, code: int, said: str
) -> None:
    cli.sources("one")
    cli.write("odd.py", ODD)
    ended = cli.run("stage", f"odd:{stage}", "sources", "--policy", "cpu", "--quiet")
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.startswith(f"inorder: {said}")
    assert len(ended.err.splitlines()) == 1


ODD = """
import multiprocessing
import threading
import inorder

if multiprocessing.parent_process() is not None:
    raise RuntimeError("not in a process")

def items(name):
    return lambda sources, data: inorder.StagePlan(name, [inorder.WorkItem(item_id="one")])

def work(item):
    return None

def made():
    lock = threading.Lock()
    def inner(item):
        return lock and None
    return inner

timid = inorder.Stage(name="timid", plan=items("timid"), worker=work)
held = inorder.Stage(name="held", plan=items("held"), worker=made())
"""


def test_a_module_elsewhere_is_found_where_python_looks(cli: CommandLine) -> None:
    cli.sources("one")
    away = cli.folder / "away"
    away.mkdir()
    (cli.folder / "jobs.py").rename(away / "jobs.py")
    assert cli.stage("count").code == 2
    assert cli.run("stage", "jobs:count", "sources", PYTHONPATH=prepend_path(away)).code == 0
