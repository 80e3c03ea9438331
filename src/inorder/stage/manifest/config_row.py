"""The first row of a run in its manifest: what ran, where, with which options."""

import datetime
import os
import platform
import sys
from typing import Any

import msgspec

from inorder.stage.contracts import StageOptions
from inorder.version import __version__

from .rows import CONFIG_ID, SCHEMA_VERSION, printable


def config_row(stage: str, run_id: str, options: StageOptions, origin: dict[str, Any]) -> dict[str, Any]:
    """`origin` says how the plan was made; `inorder retry` and `inorder explain` make it again from that."""
    return {
        "stage": stage,
        "doc_id": CONFIG_ID,
        "status": "config",
        "schema_version": SCHEMA_VERSION,
        "run_id": run_id,
        "started_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "host": platform.node(),
        "pid": os.getpid(),
        "argv": [printable(argument) for argument in sys.argv],
        "version": __version__,
        "options": msgspec.to_builtins(options, enc_hook=str) | {"data": printable(os.fspath(options.data))},
        "origin": origin,
    }
