"""Settings that run code, read secrets or send content elsewhere count only where the user has put them."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inorder.cli.option_types import AddressType, TextType
from inorder.cli.options import ALL
from tests.sources.bucket import Bucket, clear
from tests.support.command_line import CommandLine, CommandResult
from tests.support.plugin_package import install

pytestmark = [pytest.mark.req("PLG-1"), pytest.mark.process]

MINE = """
from pathlib import Path
import numpy
from inorder.plugins import Document, Paragraph

Path("imported").write_text("")

class Reader:
    extensions = ("txt",)

    def read(self, data, name):
        return Document(name=name, mimetype="text/x", blocks=[Paragraph(text=data.decode())])

class Provider:
    name, dimensions = "mine", 2

    def __init__(self, detail):
        pass

    def embed(self, texts):
        return numpy.array([[0.6, 0.8]] * len(texts), numpy.float32)

    def close(self):
        pass

reader = Reader()
"""
HARMLESS = {"data", "collection", "page_prompt", "tokenizer"}
"""Options with any text as their value that run, read and send nothing."""
UNTRUSTED = [
    ("reader", "mine:reader"),
    ("dense", "mine:Provider"),
    ("dense", "openai:http://127.0.0.1:9#model"),
    ("dense", "onnx:model"),
    ("sparse", "splade:name"),
    ("steps", "mine:step"),
    ("password_file", "/etc/hostname"),
    ("answers", "shared.sqlite"),
    ("fetch_private", True),
    ("to", "postgresql://127.0.0.1:9/db"),
    ("ray_address", "127.0.0.1:9"),
    ("metrics_file", "/tmp/elsewhere/metrics"),
    ("telemetry_dir", "/tmp/elsewhere"),
]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A folder that may be a repository of somebody else, and a configuration folder of the user's own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))
    (tmp_path / "work").mkdir()
    cli = CommandLine(tmp_path / "work")
    cli.source("a.txt", "The keeper lights the lamp at dusk.")
    cli.write("mine.py", MINE)
    yield cli
    cli.close()


def write_settings(cli: CommandLine, **values: str | bool) -> None:
    lines = [f"{key} = {value!r}\n" if isinstance(value, str) else f"{key} = true\n" for key, value in values.items()]
    cli.write("inorder.toml", "[default]\n" + "".join(lines))


def run(cli: CommandLine, *arguments: str) -> CommandResult:
    return cli.run_in_process("run", "sources", "--workers", "1", *arguments)


def is_refused(ended: CommandResult, *said: str) -> bool:
    """Whether a command has ended with one line, which says this."""
    lines = ended.err.splitlines()
    return ended.code == 2 and len(lines) == 1 and all(each in lines[0] for each in said)


def was_imported(cli: CommandLine) -> bool:
    return (cli.folder / "imported").exists()


@pytest.mark.parametrize(("key", "value"), UNTRUSTED)
def test_a_file_that_is_not_trusted_ends_the_command_with_one_line(cli: CommandLine, key: str, value: Any) -> None:
    write_settings(cli, **{key: value})
    assert is_refused(run(cli), f"inorder.toml is not trusted, and sets {key}:", "inorder config trust")
    assert not was_imported(cli)
    assert not cli.data.exists()


@pytest.mark.parametrize(
    "command", ["run sources", "search lamp", "retry", "plan sources", "watch sources", "export --to x"]
)
def test_no_command_uses_a_file_that_is_not_trusted(cli: CommandLine, command: str) -> None:
    write_settings(cli, dense="mine:Provider", reader="mine:reader", workers="1")
    assert is_refused(cli.run_in_process(*command.split()), "sets reader, dense") or is_refused(
        cli.run_in_process(*command.split()), "sets dense, reader"
    )
    assert not was_imported(cli)


@pytest.mark.slow
def test_harmless_settings_need_no_trust(cli: CommandLine) -> None:
    write_settings(cli, dense="hash:8", reader="native", sparse="none", password_file="none", policy="cpu")
    assert run(cli).code == 0


@pytest.mark.slow
def test_a_file_is_trusted_by_its_content_and_its_place(cli: CommandLine) -> None:
    write_settings(cli, reader="mine:reader")
    trusted = cli.run_in_process("config", "trust")
    assert (trusted.code, trusted.out, len(trusted.err.splitlines())) == (0, "[default] reader = mine:reader\n", 1)
    ended = run(cli)
    assert ended.code == 0, ended.err
    assert was_imported(cli)
    write_settings(cli, reader="mine:reader", workers="2")
    assert is_refused(run(cli), "reader")
    elsewhere = cli.folder / "elsewhere"
    elsewhere.mkdir()
    write_settings(cli, reader="mine:reader")
    shutil.copy(cli.folder / "inorder.toml", elsewhere)
    cli.folder = elsewhere
    assert is_refused(cli.run_in_process("run", "."), "reader")


@pytest.mark.slow
def test_a_link_is_trusted_by_what_it_leads_to(cli: CommandLine, tmp_path: Path) -> None:
    place = tmp_path / "shared.toml"
    place.write_text("[default]\nworkers = 1\n")
    os.symlink(place, cli.folder / "inorder.toml")
    assert cli.run_in_process("config", "trust").code == 0
    assert run(cli).code == 0
    place.write_text("[default]\nreader = 'mine:reader'\n")
    assert is_refused(run(cli), "reader")
    assert not was_imported(cli)


@pytest.mark.slow
def test_a_copy_for_search_of_the_user_s_own_data_is_trusted(cli: CommandLine) -> None:
    run(cli, "--dense", "mine:Provider")
    assert cli.run_in_process("export", "search", "--to", "copy").code == 0
    assert cli.run_in_process("search", "lamp", "--data", "copy").code == 0


@pytest.mark.slow
def test_what_the_user_gives_counts_in_place_of_what_is_not_trusted(cli: CommandLine, tmp_path: Path) -> None:
    write_settings(cli, reader="mine:nobody")
    assert run(cli, "--reader", "native").code == 0
    assert cli.run_in_process("run", "sources", "--workers", "1", INORDER_READER="native").code == 0
    (cli.folder / "inorder.toml").unlink()
    own = tmp_path / "configuration" / "inorder"
    own.mkdir(parents=True)
    (own / "inorder.toml").write_text("[default]\nreader = 'mine:reader'\ndense = 'static'\n")
    ended = run(cli)
    assert (ended.code, was_imported(cli)) == (0, True)
    write_settings(cli, dense="hash:8")
    shown = cli.run_in_process("config", "show", "--json").json["options"]
    assert (shown["dense"]["origin"], shown["dense"]["value"]) == ("inorder.toml [default]", "hash:8")
    assert shown["reader"]["origin"] == f"{own / 'inorder.toml'} [default]"


def test_config_show_says_what_is_not_trusted(cli: CommandLine) -> None:
    write_settings(cli, dense="onnx:model", html="full")
    ended = cli.run_in_process("config", "show")
    lines = {line.split()[0]: line for line in ended.out.splitlines()}
    assert lines["dense"].endswith("inorder.toml [default], not trusted")
    assert lines["html"].endswith("inorder.toml [default]")
    assert "not trusted" in cli.run_in_process("config", "diff").out
    shown = cli.run_in_process("config", "show", "--json").json["options"]
    assert [name for name, value in shown.items() if "is_trusted" in value] == ["dense"]
    cli.run_in_process("config", "trust")
    assert "not trusted" not in cli.run_in_process("config", "show").out


def test_there_must_be_something_to_trust(cli: CommandLine) -> None:
    assert is_refused(cli.run_in_process("config", "trust"), "no inorder.toml")
    cli.write("inorder.toml", "[default]\nworkerz = 1\n")
    assert is_refused(cli.run_in_process("config", "trust"), "workerz")


@pytest.mark.parametrize("name", [name for name, option in ALL.items() if isinstance(option.type, TextType)])
def test_an_option_with_any_text_needs_trust_or_is_known_to_be_harmless(name: str) -> None:
    value = "evil://host/db" if isinstance(ALL[name].type, AddressType) else "evil:thing"
    assert ALL[name].needs_trust(value) is (name not in HARMLESS)


# ---- DATA of somebody else


@pytest.fixture
def cloned(cli: CommandLine) -> CommandLine:
    """A folder with DATA that was made elsewhere, with a provider and a stage of its own."""
    (cli.source_folder / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
    ended = run(cli, "--dense", "mine:Provider")
    assert ended.code == 3, ended.err
    cli.source("fails.txt", "fail")
    cli.run_in_process("stage", "jobs:count", "sources", "--workers", "1", "--quiet")
    (cli.folder / "imported").unlink()
    copy = cli.folder.parent / "cloned"
    shutil.copytree(cli.folder, copy)
    cli.folder, cli.data = copy, copy / ".inorder"
    return cli


@pytest.mark.slow
def test_the_user_s_own_data_is_used_as_before(cli: CommandLine) -> None:
    run(cli, "--dense", "mine:Provider")
    assert cli.run_in_process("search", "lamp").code == 0
    assert cli.run_in_process("plan").code == 0
    assert cli.run_in_process("retry").code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("search lamp", "records dense = mine:Provider"),
        ("search lamp --mode dense", "records dense = mine:Provider"),
        ("plan", "records dense = mine:Provider"),
        ("retry", "records dense = mine:Provider"),
        ("chunk", "records dense = mine:Provider"),
        ("explain sources/a.txt --stage run", "records dense = mine:Provider"),
        ("plan --stage count", "records stage = jobs:count"),
        ("config show count", "records stage = jobs:count"),
    ],
)
def test_what_the_data_of_somebody_else_records_does_not_count(cloned: CommandLine, command: str, said: str) -> None:
    ended = cloned.run_in_process(*command.split())
    assert is_refused(ended, said, "inorder config trust --data"), ended
    assert not was_imported(cloned)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["plan", "chunk", "retry"])
def test_a_remote_source_that_the_data_of_somebody_else_names_is_not_asked(cli: CommandLine, command: str) -> None:
    bucket = Bucket(cli.folder)
    bucket.put({"a.md": b"The lamp burns oil.", "broken.pdf": b"%PDF-1.4 broken"})
    try:
        ended = cli.run_in_process("run", "memory://bucket", "--workers", "1", "--policy", "io")
        assert ended.code == 3, ended.err
        shutil.copytree(cli.data, cli.folder / "cloned")
        ended = cli.run_in_process(command, "--data", "cloned")
        assert is_refused(ended, "records source = memory://bucket"), ended
        assert cli.run_in_process("config", "trust", "--data", "cloned").out == "source = memory://bucket\n"
        assert "not trusted" not in cli.run_in_process(command, "--data", "cloned").err
    finally:
        clear()


@pytest.mark.slow
def test_a_kind_of_file_that_data_of_somebody_else_names_is_no_module(cli: CommandLine) -> None:
    (cli.folder / "package").mkdir()
    cli.write("package/__init__.py", MINE)
    cli.write("package/part.py", MINE)
    assert run(cli, "--dense", "none").code == 0
    with closing(sqlite3.connect(cli.data / "library.sqlite")) as library:
        changed = library.execute("UPDATE items SET kind = 'document:package.part:reader' WHERE kind LIKE 'document:%'")
        assert changed.rowcount == 1
        library.commit()
    for command in ("plan", "chunk --tokens-max 9", "embed --dense hash:8", "explain sources/a.txt", "run sources"):
        cli.run_in_process(*command.split())
        assert not was_imported(cli), command


@pytest.mark.slow
def test_data_of_somebody_else_can_be_searched_for_words_and_trusted(cloned: CommandLine) -> None:
    assert cloned.run_in_process("search", "lamp", "--mode", "lexical").code == 0
    trusted = cloned.run_in_process("config", "trust", "--data", ".inorder")
    assert trusted.out.splitlines() == ["stage = jobs:count", "dense = mine:Provider"]
    assert cloned.run_in_process("plan", "--stage", "count").code == 0
    assert cloned.run_in_process("search", "lamp").code == 0
    assert was_imported(cloned)


@pytest.mark.slow
def test_the_current_directory_has_no_installed_plug_ins(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    site = install(cli.folder / "site", "evil", "1", {"inorder.readers": {"evil": "mine:reader"}}, {"nothing.py": ""})
    shutil.copytree(site, cli.folder, dirs_exist_ok=True)
    monkeypatch.syspath_prepend(cli.folder)
    cli.source("b.evil", "text")
    assert run(cli).code == 0
    assert not was_imported(cli)
    assert cli.run_in_process("plugins", "--json").json == {"plugins": []}


@pytest.mark.slow
def test_modules_of_the_current_directory_do_not_take_the_place_of_those_that_workers_need(cli: CommandLine) -> None:
    """A new interpreter that is started with a program as text looks there first."""
    for name in ("copyreg", "pickle", "queue", "selectors", "signal", "socket", "struct", "tempfile", "msgspec"):
        cli.write(
            f"{name}.py", f"from pathlib import Path\nPath('imported-{name}').write_text('')\nraise ImportError\n"
        )
    ended = cli.run("run", "sources", "--workers", "1")
    assert [path.name for path in cli.folder.glob("imported*")] == []
    assert ended.code == 0, ended.err


def test_no_module_of_the_current_directory_runs_with_python_m(cli: CommandLine) -> None:
    for name in ("argparse", "dataclasses", "json", "signal", "socket", "struct", "click", "msgspec", "rich", "typer"):
        cli.write(f"{name}.py", f"from pathlib import Path\nPath('imported-{name}').write_text('')\n")
    command = [sys.executable, "-m", "inorder", "run", "sources", "--workers", "1", "--quiet"]
    ended = subprocess.run(command, cwd=cli.folder, capture_output=True, text=True, timeout=120)
    assert [path.name for path in cli.folder.glob("imported*")] == []
    assert (ended.returncode, ended.stderr) == (0, "")
