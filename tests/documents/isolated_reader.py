"""Reads PDFs in a process of its own, with little memory and time.

What kills the process fails its own test: the files after it are read in a new one.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

MEMORY_BYTES_MAX = 2 * 2**30
SECONDS_MAX = 60


def read_isolated(folder: Path, files: list[bytes]) -> list[dict[str, Any]]:
    """What became of each: its blocks and warnings, or why it was refused, or what it did to the process."""
    paths = [folder / f"{number}.pdf" for number in range(len(files))]
    for path, data in zip(paths, files, strict=True):
        path.write_bytes(data)
    found: list[dict[str, Any]] = []
    while len(found) < len(files):
        lines, end = _run(paths[len(found) :])
        found += [{"died": "", **json.loads(line)} for line in lines]
        if len(found) < len(files):
            found.append({"died": end, "refused": "", "warnings": [], "blocks": [], "seconds": 0.0})
    return found


def _run(paths: list[Path]) -> tuple[list[str], str]:
    command = [sys.executable, "-m", "tests.documents.isolated_reader", *map(str, paths)]
    root = Path(__file__).parents[2]
    try:
        ran = subprocess.run(command, capture_output=True, timeout=SECONDS_MAX, check=False, cwd=root)
    except subprocess.TimeoutExpired as expired:
        return (expired.stdout or b"").decode().splitlines(), f"hung for {SECONDS_MAX} s"
    return ran.stdout.decode().splitlines(), f"ended with {ran.returncode}: {ran.stderr.decode()[-500:]}"


def _read(path: str) -> dict[str, Any]:
    from inorder.documents.doctags.docling_json import write_json
    from inorder.documents.doctags.tags import write_doctags
    from inorder.documents.readers.pdf import reader as pdf
    from inorder.errors import ReadError

    began = time.process_time()
    try:
        document = pdf.read(Path(path).read_bytes(), "tale")
        write_json(document)
        write_doctags(document)
        found = {"refused": "", "warnings": document.warnings, "blocks": msgspec.to_builtins(document.blocks)}
    except ReadError as error:
        found = {"refused": str(error), "warnings": [], "blocks": []}
    return {**found, "seconds": time.process_time() - began}


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    for argument in sys.argv[1:]:
        print(json.dumps(_read(argument)), flush=True)
