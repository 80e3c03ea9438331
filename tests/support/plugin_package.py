"""Installs packages with plug-ins into a folder, without a network: a wheel is made here, and pip installs it."""

import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin"


def install_example(folder: Path, version: str = "") -> Path:
    """Install the package of `examples/plugin`. Returns the folder for `PYTHONPATH`."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    source = EXAMPLE / "src"
    files = {str(path.relative_to(source)): path.read_text() for path in source.rglob("*.py")}
    return install(folder, project["name"], version or project["version"], project["entry-points"], files)


def install(
    folder: Path, name: str, version: str, groups: Mapping[str, Mapping[str, str]], files: Mapping[str, str]
) -> Path:
    """Install a package with these entry points and files."""
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    entries = [
        "\n".join([f"[{group}]", *(f"{key} = {to}" for key, to in each.items()), ""]) for group, each in groups.items()
    ]
    content = dict(files) | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "\n".join(entries),
    }
    content[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*content, f"{info}/RECORD"])
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in content.items():
            archive.writestr(path, text)
    target = folder / "site"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    subprocess.run([*command, "--no-deps", "--upgrade", "--target", str(target), str(wheel)], check=True)
    return target
