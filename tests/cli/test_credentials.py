"""Credentials in addresses work, and are in nothing that a run leaves, prints or starts."""

import base64
import socket
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.documents.embed.servers import Handler, Script, held_by, serving, well
from tests.support.command_line import GUARD_S, CommandLine

pytestmark = [pytest.mark.req("SIL-4"), pytest.mark.slow]
MARK = "SESAME"
SPACED = f"{MARK} and {MARK}"
KEYS = "&".join(f"{name}={MARK}" for name in ("api_key", "pwd", "code", "subscription-key", "x-functions-key"))


class PageServer(ThreadingHTTPServer):
    """Serves one page to those who have the password and the signature."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), PageHandler)

    def url(self, credentials: str = "", query: str = "") -> str:
        return f"http://{credentials}127.0.0.1:{self.server_port}/lamps.md{query}"


class PageHandler(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self.wfile.write(self._answer())

    def _answer(self) -> bytes:
        is_known = self.headers["Authorization"] == basic("reader", f"{MARK}-read")
        is_signed = self.path in (f"/lamps.md?page=1&sig={MARK}-sig", f"/lamps.md?page=1&sig={MARK}-new")
        body = b"# Lamps\n\nLit at dusk.\n" if is_known and is_signed else b""
        self.send_response(200 if body else 403)
        self.send_header("ETag", '"1"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        return body

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def page() -> Iterator[PageServer]:
    server = PageServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def protected(handler: Handler, texts: list[str]) -> None:
    """Answer who has the password and the key."""
    is_known = handler.headers["Authorization"] in (basic("me", f"{MARK}@pass"), basic("me", SPACED))
    keys = (f"api_key={MARK}-key", f"v=1&api_key={MARK}-key", f"v=1&{KEYS}")
    if is_known and handler.path in (f"/v1/embeddings?{each}" for each in keys):
        well(handler, texts)
    else:
        handler.answer(f"no entry: {handler.path}".encode(), 401)


def find_marked(folder: Path) -> list[str]:
    """The files below a folder whose names or contents have a credential."""
    files = [each for each in folder.rglob("*") if each.is_file()]
    return [str(each) for each in files if MARK in str(each) or MARK.encode() in each.read_bytes()]


def read_command_lines(program: "subprocess.Popen[str]") -> dict[int, str]:
    """The command lines of all processes that a program has started, and that these have."""
    parents, lines = {}, {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            lines[int(folder.name)] = (folder / "cmdline").read_bytes().decode(errors="replace")
        except (OSError, IndexError):
            continue
    found = {program.pid}
    while more := {each for each, parent in parents.items() if parent in found} - found:
        found |= more
    return {each: lines[each] for each in found - {program.pid}}


def test_a_run_leaves_and_shows_no_credentials_of_a_server_or_a_source(cli: CommandLine, page: PageServer) -> None:
    cli.sources("The fog horn is sounded in mist.", "The lamp is lit at dusk.")
    gate = threading.Event()
    script = Script(held_by(gate), otherwise=protected)
    with serving(script) as address:
        server = f"openai:{address.replace('://', f'://me:{SPACED}@')}/v1?v=1&{KEYS}#a-model"
        source = page.url(f"reader:{MARK}-read@", f"?page=1&sig={MARK}-sig")
        command = ("run", "sources", source, "--dense", server, "--workers", "2")
        program = cli.start(*command)
        script.has_requests()
        children = read_command_lines(program)
        gate.set()
        ended = cli.end_of(program)
        assert ended.code == 0, ended.err
        assert len(children) >= 2
        assert not [line for line in children.values() if MARK in line]
        assert script.headers[0]["Authorization"] == basic("me", SPACED)
        assert {path.partition("?")[0] for path in script.paths} == {"/v1/embeddings"}
        assert script.paths[0].endswith(f"?v=1&{KEYS}")

        looks = [
            cli.run(*each)
            for each in (
                ("search", "fog", "--explain"),
                ("inspect", "-v"),
                ("explain", source),
                ("plan", source),
                ("sources",),
                ("manifest", "embed-dense"),
                ("report", "--out", "report.html"),
                ("config", "show", "--dense", server),
            )
        ]
    assert find_marked(cli.folder) == []
    printed = "".join(each.out + each.err for each in (ended, *looks))
    assert MARK not in printed, [line for line in printed.splitlines() if MARK in line]
    assert "INORDER_DENSE" in ended.err


def test_a_changed_password_computes_nothing_again(cli: CommandLine, page: PageServer) -> None:
    """Also that of a source, and the key of a server: nothing is asked of it."""
    cli.sources("The fog horn is sounded in mist.")
    script = Script()
    with serving(script) as address:
        for secret, counts in (("one", "1 new"), ("two", "1 unchanged")):
            server = f"openai:{address.replace('://', f'://me:{secret}@')}/v1?api_key={secret}#a-model"
            ended = cli.run("run", "sources", "--dense", server)
            assert (ended.code, ended.err.count(counts)) == (0, 1), ended.err
    assert len(script.paths) == 1
    for sig, counts in ((f"{MARK}-sig", "1 new"), (f"{MARK}-new", "1 unchanged")):
        ended = cli.run("doctags", page.url(f"reader:{MARK}-read@", f"?page=1&sig={sig}"))
        assert (ended.code, ended.err.count(counts)) == (0, 1), ended.err


def test_an_address_in_the_environment_needs_no_warning_and_serves_search(cli: CommandLine) -> None:
    cli.sources("The fog horn is sounded in mist.")
    with serving(Script(otherwise=protected)) as address:
        server = f"openai:{address.replace('://', f'://me:{MARK}%40pass@')}/v1?api_key={MARK}-key#a-model"
        ended = cli.run("run", "sources", INORDER_DENSE=server)
        assert (ended.code, "warning" in ended.err) == (0, False), ended.err
        found = cli.run("search", "fog", "--mode", "dense", "--json", INORDER_DENSE=server)
    assert (found.code, found.err) == (0, "")
    assert find_marked(cli.folder) == []


def test_what_a_server_repeats_of_an_address_is_not_shown(cli: CommandLine) -> None:
    cli.sources("The fog horn is sounded in mist.")
    with serving(Script(otherwise=protected)) as address:
        server = f"openai:{address}/v1?api_key={MARK}-key#a-model"
        ended = cli.run("run", "sources", "--dense", server)
    assert ended.code != 0
    assert "no entry: /v1/embeddings?api_key=***" in ended.err
    assert MARK not in ended.err
    assert find_marked(cli.folder) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("sources", "--dense", f"openai:http:/me:{MARK}@127.0.0.1:9/v1#m"),
        ("sources", "--dense", f"openai:http:me:{MARK}@127.0.0.1:9/v1#m"),
        ("sources", "--dense", f"openai:me:{MARK}@127.0.0.1:9/v1#m"),
        ("sources", "--dense", f"openai:http://127.0.0.1:9/v1#m?api_key={MARK}"),
        ("sources", "--dnse", f"openai:http://me:{SPACED}@127.0.0.1:9/v1#m"),
        ("sources", f"--dnse=openai:http://127.0.0.1:9/v1?pwd={SPACED}#m"),
        ("sources", "--to", f"postgresql:/me:{MARK}@127.0.0.1/db"),
        ("sources", f"https:/me:{MARK}@127.0.0.1/lamps.md"),
        ("sources", f"s3://me:{SPACED}@bucket/lamps.md"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_its_credentials(
    cli: CommandLine, arguments: tuple[str, ...]
) -> None:
    cli.sources("The fog horn is sounded in mist.")
    ended = cli.run("run", *arguments)
    assert ended.code == 2, ended.err
    assert ended.err.count("inorder: ") == 1
    assert MARK not in ended.out + ended.err
    assert find_marked(cli.folder) == []


@pytest.mark.parametrize("command", ["explain", "watch", "export documents --to", "export search --to", "plan"])
def test_an_address_without_two_slashes_is_no_path(cli: CommandLine, command: str) -> None:
    cli.sources("The fog horn is sounded in mist.")
    assert cli.run("run", "sources", "--quiet").code == 0
    ended = cli.run(*command.split(), f"https:/me:{SPACED}@127.0.0.1/lamps")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "the https address cannot be read: it needs two slashes, as in https://host" in ended.err
    assert find_marked(cli.folder) == []
    assert sorted(path.name for path in cli.folder.iterdir()) == [".inorder", "gates", "jobs.py", "sources"]


def answer_as_postgres(listener: socket.socket, heard: list[bytes]) -> None:
    """Ask the first caller who does not want encryption for its password, and refuse it."""
    while True:
        connection, _ = listener.accept()
        with connection:
            start = connection.recv(1024)
            while start[4:8] in (b"\x04\xd2\x16/", b"\x04\xd2\x160"):  # encryption by TLS or GSSAPI
                connection.sendall(b"N")
                start = connection.recv(1024)
            if not start:
                continue
            connection.sendall(b"R\0\0\0\x08\0\0\0\x03")
            heard.append(connection.recv(1024)[5:-1])
            fields = b"SFATAL\0C28P01\0Mpassword authentication failed for user me\0\0"
            connection.sendall(b"E" + (len(fields) + 4).to_bytes(4, "big") + fields)
            return


def test_the_password_of_a_target_is_sent_to_it_alone(cli: CommandLine) -> None:
    cli.sources("The fog horn is sounded in mist.")
    assert cli.run("run", "sources").code == 0
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer_as_postgres, args=(listener, heard), daemon=True)
        thread.start()
        target = f"postgresql://me:{MARK}%40pass@127.0.0.1:{listener.getsockname()[1]}/db"
        ended = cli.run("run", "sources", "--to", target)
        thread.join(GUARD_S)
    assert heard == [f"{MARK}@pass".encode()]
    assert ended.code == 2
    assert "INORDER_TO" in ended.err
    assert MARK not in ended.err
    assert find_marked(cli.folder) == []


def test_two_sources_that_differ_in_credentials_alone_are_refused(cli: CommandLine, page: PageServer) -> None:
    """They would be one source, and one of them would not be read."""
    ended = cli.run("run", *(page.url(query=f"?token={MARK}{number}") for number in (1, 2)))
    assert ended.code == 2
    assert "two sources differ in credentials alone" in ended.err
    assert MARK not in ended.err
    assert not cli.data.exists()
