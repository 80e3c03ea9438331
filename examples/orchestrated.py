"""A stage as a task of a scheduler: the task calls `run_stage`.

    python examples/orchestrated.py DATA SRC...

The body of `shout_everything` works as a task of Prefect, Airflow or cron. Time limits, retries, error budget and
resume are handled by the stage, as with the command `inorder stage examples.shout:stage`. If a task was killed, start
it again: it resumes. The scheduler needs no retries for single items.

`inorder failures --data DATA` lists what has failed. `inorder retry --data DATA` runs that again; it asks once for
`inorder config trust --data DATA`, because it loads the module that a program has recorded there.
"""

import sys
from pathlib import Path

import inorder

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from examples.shout import stage


def shout_everything(sources: list[Path], data: Path) -> inorder.StageOutcome:
    """Run the task: process every text that is new or has changed."""
    options = inorder.StageOptions(data=data, retries=2, timeout_s=60, error_budget=100)
    origin = {"entry": "examples.shout:stage", "sources": [str(source) for source in sources]}
    outcome = inorder.run_stage(stage.plan(sources, data), stage.worker, options, stage.hooks, origin=origin)
    if outcome.was_cancelled:
        raise RuntimeError(f"{outcome.stage} stopped: {outcome.cancel_reason}; start it again to resume")
    return outcome


def main() -> int:
    """Run the task and print its outcome."""
    data, *sources = (Path(argument).absolute() for argument in sys.argv[1:])
    outcome = shout_everything(sources, data)
    print(f"{outcome.succeeded} done, {outcome.skipped} skipped, {outcome.failed} failed")
    for error in outcome.errors:
        print(f"  {error.item_id} ({error.category}): {error.message}")
    return 3 if outcome.failed else 0


if __name__ == "__main__":
    sys.exit(main())
