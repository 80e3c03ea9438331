"""`inorder report`: a page about runs and the contents of DATA."""

from typing import Annotated

import typer

from inorder.cli.data_dir import open_data
from inorder.cli.option_spec import Section
from inorder.cli.output import encode_json, print_out, stream_lines
from inorder.cli.parameters import DataOption, make_option
from inorder.errors import OperatorError
from inorder.host.named_file import write_named
from inorder.library.connection import find_library_problem
from inorder.report import build_report, encode_trace, render_html


def report(
    run: Annotated[
        list[str] | None,
        make_option(
            Section.INPUT,
            "ID",
            "Only this run; its id may be abbreviated. Given twice: compare two runs of one stage. Default: the "
            "latest run of every stage.",
            "--run",
        ),
    ] = None,
    data: DataOption = None,
    output: Annotated[
        str, make_option(Section.OUTPUT, "FILE", "The page. Default: report.html.", "--output", "-o")
    ] = "report.html",
    trace: Annotated[
        str | None,
        make_option(
            Section.OUTPUT,
            "FILE",
            "Write the workers over time, for Perfetto or chrome://tracing. With attempts_log=true in the run, every "
            "attempt; otherwise the longest items. Default: none.",
            "--trace",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the data on stdout, and write no page.")] = False,
) -> None:
    """Write one HTML page about the latest runs: how they are, what they did when, what failed, and what DATA holds.

    The page needs no network and no other file. It can be made while a run is going on and after one was killed: it is
    made of the journal, the telemetry and the manifests, and takes no lock. If the library is damaged, the page says so
    and the exit code is 6.
    """
    directory = open_data(data)
    found = build_report(directory.root, run or ())
    if trace is not None:
        write_file(trace, encode_trace(found), "--trace")
    if as_json:
        stream_lines([encode_json(found)])
    else:
        write_file(output, render_html(found).encode("utf-8"), "-o")
        print_out(output)
    problem = find_library_problem(directory.root)
    if problem is not None:
        raise problem


def write_file(path: str, content: bytes, option: str) -> None:
    """Write a file as a whole. Raises OperatorError if its path cannot be written."""
    try:
        write_named(path, content)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OperatorError(f"{path} cannot be written: {reason}; choose another with {option}") from error
