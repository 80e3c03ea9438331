"""Interpreters, distributions and dependencies for tests that install inorder. `make test-packaging` runs those."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WHEELHOUSE = ROOT / "build" / "wheelhouse"
IS_WANTED = os.environ.get("PACKAGING_TESTS") == "1"
NEEDS_INSTALLATION = "test_installation.py"


@cache
def find_interpreters() -> dict[str, str]:
    """The interpreters of supported versions that are at hand, by version: that of the tests, those on the PATH, and
    those of pyenv."""
    found = {f"{sys.version_info.major}.{sys.version_info.minor}": sys.executable}
    for version in list_supported_versions():
        installed = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
        for path in (shutil.which(f"python{version}"), *map(str, reversed(installed))):
            if version not in found and path and _runs(path):
                found[version] = path
    return dict(sorted(found.items(), key=lambda each: int(each[0].partition(".")[2])))


def list_supported_versions() -> list[str]:
    """The versions that the package names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ends = [each.rpartition(" :: ")[2] for each in project["classifiers"] if each.startswith("Programming Language ::")]
    return [end for end in ends if end.startswith("3.")]


def _runs(path: str) -> bool:
    """Whether an interpreter can make environments. What pyenv puts on the PATH may not run."""
    return subprocess.run([path, "-c", "import ensurepip, venv"], capture_output=True, check=False).returncode == 0


def pytest_report_header() -> str:
    if not IS_WANTED:
        return ""
    missing = sorted(set(list_supported_versions()) - set(find_interpreters()))
    return f"packaging: Python {', '.join(find_interpreters())}; not at hand: {', '.join(missing) or 'none'}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "interpreter" in metafunc.fixturenames:
        metafunc.parametrize("interpreter", list(find_interpreters() if IS_WANTED else ("3",)), indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path == Path(__file__).with_name(NEEDS_INSTALLATION):
            item.add_marker(pytest.mark.process)
            item.add_marker(pytest.mark.slow)
            if not IS_WANTED:
                item.add_marker(pytest.mark.skip(reason="run by `make test-packaging`"))


@pytest.fixture
def interpreter(request: pytest.FixtureRequest) -> str:
    """Each interpreter that is at hand, in turn."""
    return find_interpreters()[request.param]


@pytest.fixture
def wheelhouse(interpreter: str) -> Path:
    """A folder with all packages that inorder is installed from. It is filled once per interpreter, and again when
    dependencies change."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    needed += project["project"]["optional-dependencies"]["ingest"]
    constraints = ROOT / "constraints.txt"
    state = [interpreter, *needed, constraints.read_text(encoding="utf-8")]
    stamp = WHEELHOUSE / f"{hashlib.sha256(json.dumps(state).encode()).hexdigest()[:16]}.stamp"
    if not stamp.exists():
        WHEELHOUSE.mkdir(parents=True, exist_ok=True)
        download = [interpreter, "-m", "pip", "download", "--quiet", "--dest", str(WHEELHOUSE)]
        subprocess.run([*download, "--constraint", str(constraints), *needed], check=True, timeout=600)
        stamp.touch()
    return WHEELHOUSE
