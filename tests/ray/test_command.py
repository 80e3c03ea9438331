"""The whole command on a cluster that loses a node gives the same results as on this machine."""

import json
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inorder.library.reader import LibraryReader
from inorder.stage.manifest.rows import VOLATILE_FIELDS
from tests.ray.machines import Machine, Machines, supervisors_of
from tests.ray.meanwhile import Meanwhile
from tests.support.command_line import COMMAND, GUARD_S, CommandResult, clean_environment
from tests.support.misbehaviour import wait_until

ROOT = Path(__file__).parents[2]
MANIFESTS = ("doctags", "chunk", "index", "embed-dense")


def command(data: Path, *options: str) -> CommandResult:
    """`inorder run` on the bundled documents and code, three of which are broken."""
    ended = subprocess.run(
        [COMMAND, "run", "examples/sample", "--data", str(data), "--json", "--quiet", *options],
        cwd=ROOT,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=GUARD_S,
        check=False,
    )
    return CommandResult(ended.returncode, ended.stdout, ended.stderr)


class Made:
    """The content of DATA after a run."""

    def __init__(self, data: Path) -> None:
        self.rows = {name: rows_of(data / "manifests" / f"{name}.jsonl", data) for name in MANIFESTS}
        with closing(LibraryReader(str(data))) as reader:
            self.content = reader.read_totals().content_hash
            self.failures = [(each.item_id, each.step, each.message) for each in reader.list_failures()]


def rows_of(manifest: Path, data: Path) -> list[dict[str, Any]]:
    """The rows of items, without what may differ."""
    text = manifest.read_text(encoding="utf-8").replace(str(data), "DATA")
    rows = [json.loads(line) for line in text.splitlines()]
    kept = [{name: value for name, value in row.items() if name not in VOLATILE_FIELDS} for row in rows]
    return [row for row in kept if row["doc_id"] != "__config__"]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Made:
    data = tmp_path_factory.mktemp("local") / "data"
    ended = command(data)
    assert ended.code == 3, ended.err
    return Made(data)


@pytest.mark.req("JRN-7", "LED-7")
@pytest.mark.parametrize("files", ["shared", "send"])
def test_a_run_that_loses_a_node_gives_the_same_results(
    machines: Machines, local: Made, tmp_path: Path, files: str
) -> None:
    """With so many workers, some are on the node when it is lost."""
    doomed = machines.add(2)

    def lose() -> None:
        assert wait_until(lambda: has_worker(doomed)), "no worker started on the node"
        machines.lose(doomed)

    host, _, port = machines.address.partition(":")
    with Meanwhile(lose):
        ended = command(
            tmp_path / "data",
            "--engine",
            "ray",
            "--set",
            f"ray_address=localhost:{port}",
            "--set",
            f"ray_files={files}",
        )
    assert host
    assert ended.code == 3, ended.err
    outcome = json.loads(ended.out)  # standard output has nothing else, whatever Ray prints about the node
    assert outcome["counts"]["failed"] == len(local.failures) == 3
    assert "Traceback" not in ended.err
    assert "(raylet)" not in ended.out + ended.err
    made = Made(tmp_path / "data")
    assert made.rows == local.rows
    assert made.failures == local.failures
    assert made.content == local.content


def has_worker(machine: Machine) -> bool:
    return any(supervisors_of([machine]).values())
