"""`inorder sources`, `inorder forget`, `inorder plan` and `inorder explain` over sources, through the command line."""

import subprocess
from hashlib import sha256

import pytest

from inorder.models.answers import Answer, AnswerStore
from inorder.models.question import Question
from tests.support.command_line import CommandLine, CommandResult

IN_THREADS = ("--policy", "io", "--workers", "1", "-q")


@pytest.fixture
def two(cli: CommandLine) -> CommandLine:
    """Two sources; one file of the second is a copy of one of the first."""
    for name, text in (("docs/a.md", "# A lamp\n"), ("docs/b.md", "# A horn\n"), ("more/a.md", "# A lamp\n")):
        path = cli.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert run(cli, "run", "docs", "more", *IN_THREADS).code == 0
    return cli


def run(cli: CommandLine, *arguments: str) -> CommandResult:
    return cli.run_in_process(*arguments)


def list_sources(cli: CommandLine, *names: str) -> dict[str, tuple[str, int, bool]]:
    found = run(cli, "sources", *names, "--json").json["sources"]
    return {each["name"]: (each["path"], each["files"], each["is_there"]) for each in found}


def list_hits(cli: CommandLine, query: str) -> list[str]:
    return [hit["path"] for hit in run(cli, "search", query, "--mode", "lexical", "--json").json["hits"]]


@pytest.mark.slow
@pytest.mark.req("PIP-4")
def test_sources_are_listed_with_their_files_and_whether_they_are_there(two: CommandLine) -> None:
    folder = two.folder
    assert list_sources(two) == {"docs": (f"{folder}/docs", 2, True), "more": (f"{folder}/more", 1, True)}
    (folder / "more").rename(folder / "moved")
    assert list_sources(two, "more") == {"more": (f"{folder}/more", 1, False)}
    lines = run(two, "sources").out.splitlines()
    assert lines[0].split() == ["name", "files", "last", "walked", "path"]
    assert lines[2].endswith(f"{folder}/more (not there)")


@pytest.mark.slow
@pytest.mark.req("PIP-4")
def test_a_source_that_has_moved_keeps_its_files_and_nothing_is_computed_again(two: CommandLine) -> None:
    folder = two.folder
    (folder / "docs").rename(folder / "letters")
    moved = run(two, "sources", "docs", "--path", "letters", "--json")
    assert moved.code == 0
    assert moved.err == f"the source docs has moved from {folder}/docs to {folder}/letters\n"
    counts = run(two, "run", "letters", "--json", *IN_THREADS).json["counts"]
    assert {word: count for word, count in counts.items() if count} == {"unchanged": 2}
    assert list_hits(two, "horn") == ["letters/b.md"]


@pytest.mark.slow
@pytest.mark.req("CLI-1")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("sources", "other"), "no source has the name 'other'; sources: docs, more"),
        (("sources", "docs", "--path", "nowhere"), "no such file or directory"),
        (("sources", "docs", "--path", "more"), "belongs to the source 'more' already"),
        (("sources", "--path", "more"), "--path needs the NAME"),
        (("forget", "other"), "no source has the name 'other'; sources: docs, more"),
    ],
)
def test_a_mistake_is_told_in_one_line_and_changes_nothing(
    two: CommandLine, arguments: tuple[str, ...], said: str
) -> None:
    before = list_sources(two)
    ended = run(two, *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("\n") == 1
    assert said in ended.err
    assert list_sources(two) == before


@pytest.mark.process
@pytest.mark.req("PIP-4")
def test_a_forgotten_source_is_no_longer_found_and_its_folder_is_left_alone(two: CommandLine) -> None:
    ended = run(two, "forget", "docs")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == "forgot the source docs: 2 files removed; 1 copy of other sources became documents\n"
    assert list_sources(two).keys() == {"more"}
    assert list_hits(two, "horn") == []
    assert list_hits(two, "lamp") == ["more/a.md"]
    assert (two.folder / "docs" / "b.md").exists()
    assert run(two, "verify").code == 0
    assert run(two, "forget", "more", "--json").json["removed"] == 1
    assert list_sources(two) == {}


@pytest.mark.req("RUN-13")
@pytest.mark.process
def test_a_library_in_use_is_left_alone(two: CommandLine) -> None:
    lock = str(two.data / "locks" / "run.lock")
    holder = subprocess.Popen(["flock", lock, "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdin is not None
    assert holder.stdout is not None
    holder.stdin.write(b"held\n")
    holder.stdin.flush()
    assert holder.stdout.readline() == b"held\n"
    try:
        for arguments in (("forget", "docs"), ("sources", "docs", "--path", str(two.folder / "docs"))):
            ended = run(two, *arguments)
            assert (ended.code, ended.err.count("\n")) == (5, 1)
    finally:
        holder.communicate()
    assert list_sources(two).keys() == {"docs", "more"}


@pytest.mark.slow
@pytest.mark.req("CLI-7", "PIP-5")
def test_a_plan_has_the_lines_and_the_counts_of_the_run(two: CommandLine) -> None:
    folder = two.folder
    (folder / "docs" / "b.md").write_text("# A horn\n\nIt blows.\n")
    (folder / "docs" / "c.md").write_text("# New\n")
    (folder / "more" / "a.md").unlink()
    lines = run(two, "plan").out.splitlines()
    depends = "chunk: if the document changes; index, embed:dense: if the chunks change"
    assert lines == [
        f"changed   docs/b.md  doctags: the content has changed; {depends}",
        "new       docs/c.md  doctags, chunk, index, embed:dense",
        "removed   more/a.md",
        f"no file is left in {folder / 'more'}; `inorder forget more` removes the source, too",
        "3 files: 1 new, 1 changed, 1 unchanged; 1 removed",
    ]
    planned = run(two, "plan", "docs", "more", "--json").json
    done = run(two, "run", "docs", "more", "--json", *IN_THREADS).json
    assert planned["counts"] == done["counts"]
    assert [each["item_id"] for each in planned["files"]] == ["docs/b.md", "docs/c.md", "more/a.md"]
    assert run(two, "plan").out == "3 files: 3 unchanged\n"


@pytest.mark.slow
@pytest.mark.req("CLI-7")
def test_a_plan_of_one_step_and_of_other_settings_says_which_part_changed(two: CommandLine) -> None:
    lines = run(two, "plan", "--stage", "embed", "--dense", "hash:64").out.splitlines()
    assert lines[0].startswith("changed   docs/a.md  embed:dense: its settings have changed: ")
    assert run(two, "plan", "--stage", "chunk").out == "3 files: 2 unchanged, 1 copy\n"
    refused = run(two, "plan", "docs", "--stage", "chunk")
    assert (refused.code, refused.err.count("\n")) == (2, 1)


@pytest.mark.slow
@pytest.mark.req("CLI-5", "CLI-7")
def test_settings_of_the_last_run_are_those_that_a_file_is_explained_with(two: CommandLine) -> None:
    assert run(two, "run", "docs", "more", "--tokens-max", "300", *IN_THREADS).code == 0
    found = run(two, "explain", "docs/a.md", "--json").json["file"]
    assert (found["class"], {each["verdict"] for each in found["steps"]}) == ("unchanged", {"skip"})
    shown = run(two, "explain", "docs/a.md").out.splitlines()
    assert shown[:2] == ["docs/a.md: unchanged", "  doctags does not run: its input and settings are unchanged"]
    assert run(two, "explain", "more/a.md").out == "more/a.md: copy: of docs/a.md\n"


@pytest.mark.process
@pytest.mark.req("PIP-4", "MOD-2")
def test_forget_says_how_many_answers_of_models_hold_text_of_removed_files(two: CommandLine) -> None:
    answer = Answer(text="horn", tokens_in=9, tokens_out=1, finish_reason="stop", model="m", seconds=0.1)
    with AnswerStore(str(two.folder / ".inorder" / "answers.sqlite")) as store:
        for name in ("docs/b.md", "more/a.md"):
            digest = sha256((two.folder / name).read_bytes()).hexdigest()
            store.keep(Question(model="http://h/v1#m", prompt="Read it.", input_key=f"{digest}#1"), answer)
    ended = run(two, "forget", "docs")
    assert "1 answer of models about removed files stay: inorder answers --orphans --remove" in ended.err
    assert run(two, "answers", "--orphans", "--remove").out == "removed 1 answers; 1 stay\n"


@pytest.mark.process
@pytest.mark.req("MOD-2")
def test_answers_are_looked_for_in_the_file_that_the_last_run_has_used(two: CommandLine) -> None:
    answer = Answer(text="horn", tokens_in=9, tokens_out=1, finish_reason="stop", model="m", seconds=0.1)
    with AnswerStore(str(two.folder / "shared.sqlite")) as store:
        store.keep(Question(model="http://h/v1#m", prompt="Read it.", input_key="f#1"), answer)
    assert run(two, "answers").out == ""
    (two.folder / "docs" / "c.md").write_text("# A bell\n")
    assert run(two, "run", "docs", *IN_THREADS, "--set", "answers=shared.sqlite").code == 0
    assert "http://h/v1#m" in run(two, "answers").out
