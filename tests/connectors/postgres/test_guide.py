"""The commands of the guide to databases, as they are written there."""

import re
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.connectors.postgres.server import PostgresServer
from tests.connectors.s3_server import serve_s3
from tests.support.command_line import clean_environment

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "databases.md"
CHAPTERS = {"horn.md": "# The horn\n\nThe horn is sounded in fog.\n", "lamp.md": "# The lamp\n\nIt burns at night.\n"}


@pytest.mark.process
@pytest.mark.slow
def test_the_guide_leads_from_a_bucket_to_pgvector(
    tmp_path: Path, server: PostgresServer, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("moto", reason="`make test-connectors` installs the package moto")
    import boto3

    blocks = re.findall(r"```bash\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    [commands] = [block for block in blocks if "s3://handbook" in block]
    with serve_s3() as store:
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        client = boto3.client("s3", endpoint_url=store.endpoint)
        client.create_bucket(Bucket="handbook")
        for name, text in CHAPTERS.items():
            client.put_object(Bucket="handbook", Key=f"chapters/{name}", Body=text.encode())
        environment = {
            **clean_environment(),
            **store.environment,
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "DATABASE": server.address(database),
        }
        done = subprocess.run(
            ["bash", "-e", "-c", commands], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    assert "horn.md" in done.stdout
    assert "The horn is sounded in fog." in done.stdout
    queries = re.findall(r"```sql\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    [query] = [query for query in queries if "embedding" in query]
    with psycopg.connect(server.address(database), autocommit=True) as connection:
        [vector] = connection.execute("SELECT embedding::text FROM inorder.chunks LIMIT 1").fetchone() or ("",)
        setting, _, selection = query.replace("$1", f"'{vector}'::vector").partition(";")
        connection.execute(setting)
        rows = connection.execute(selection).fetchall()
    assert [row[0] for row in rows] == ["chapters/horn.md"]
