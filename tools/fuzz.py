"""Search for inputs that a reader or parser of ours mishandles, with atheris. Started with `make fuzz`.

Each target of `tests/fuzz/targets.py` is run in a process of its own, for an equal share of the time. An exception that
the target does not expect, 20 seconds for one input, or 2 GiB of memory is a fault: the input is left in
`build/fuzz/TARGET/`, and the exit code is 1. With
`--keep`, it begins with our own documents alone, and some inputs that reached something new are written to
`tests/fuzz/found/`, which `tests/fuzz/test_replay.py` repeats. The JSON API of `inorder serve` gets requests from
schemathesis.
"""

import argparse
import base64
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "fuzz"
API = "json-api"
ITEM_S_MAX = 20
MEMORY_MB_MAX = 2048
KEPT_MAX = 30
KEPT_BYTES_MAX = 1500
"""Of each target, inputs that are kept, and the size of each."""


def main() -> int:
    """Fuzz the targets that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="default: all")
    parser.add_argument("--seconds-max", type=float, default=60, metavar="S", help="for all targets together")
    parser.add_argument("--keep", action="store_true", help="write some inputs to tests/fuzz/found/")
    parser.add_argument("--child", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return fuzz(*options.child)
    from tests.fuzz.targets import TARGETS

    known = [*TARGETS, API]
    unknown = [name for name in options.targets if name not in known]
    if unknown:
        parser.error(f"unknown target {unknown[0]}; targets: {', '.join(known)}")
    names = options.targets or known
    share_s = max(1, round(options.seconds_max / len(names)))
    print(f"{'target':<22}{'executions':>12}{'edges':>8}{'inputs':>8}  result", flush=True)
    faults = [name for name in names if not run_target(name, share_s, keeps=options.keep)]
    print(f"{len(names)} targets, {share_s} s each; faults in {', '.join(faults) or 'none'}")
    return 1 if faults else 0


def run_target(name: str, seconds: int, *, keeps: bool) -> bool:
    """Fuzz one target in a process of its own, print a line about it, and return whether it has no fault."""
    if name == API:
        return check_api(seconds)
    place = WORK / name
    corpus = place / ("kept" if keeps else "corpus")
    corpus.mkdir(parents=True, exist_ok=True)
    limits = [f"-timeout={ITEM_S_MAX}", f"-rss_limit_mb={MEMORY_MB_MAX}", f"-artifact_prefix={place}/"]
    command = [sys.executable, "-m", "tools.fuzz", "--child", name, "own" if keeps else "all"]
    command += [f"-max_total_time={seconds}", "-print_final_stats=1", *limits, str(corpus)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    (place / "log.txt").write_bytes(done.stdout)
    log = done.stdout.decode("utf-8", "replace")
    units = re.findall(r"number_of_executed_units:\s+(\d+)", log) or ["?"]
    edges = re.findall(r"cov: (\d+)", log) or ["?"]
    written = re.findall(r"Test unit written to (\S+)", log)
    result = "no fault" if done.returncode == 0 else f"FAULT: {written[-1] if written else place / 'log.txt'}"
    print(f"{name:<22}{units[-1]:>12}{edges[-1]:>8}{len(list(corpus.iterdir())):>8}  {result}", flush=True)
    if keeps and done.returncode == 0:
        keep(name, corpus)
    return done.returncode == 0


def check_api(seconds: int) -> bool:
    """Send requests to `inorder serve` that its OpenAPI document allows and refuses, print a line, and return whether
    all answers are as it says. The bundled sample is served."""
    place = WORK / API
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    inorder = [sys.executable, "-m", "inorder"]
    data = str(place / "data")
    subprocess.run([*inorder, "run", "examples/sample", "--data", data, "--quiet"], cwd=ROOT, check=False)
    token = place / "token"
    token.write_text("a-token-of-many-characters")
    token.chmod(0o600)
    serve = [*inorder, "serve", "--data", data, "--port", "0", "--token-file", str(token)]
    with subprocess.Popen(serve, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().partition("?")[0].strip()
        command = [str(Path(sys.executable).with_name("schemathesis")), "run", f"{address}api/openapi.json"]
        command += ["-H", f"Authorization: Bearer {token.read_text()}", "--max-time", str(seconds), "--no-color"]
        command += ["--continue-on-failure", "--generation-database", "none", "--generation-allow-x00", "false"]
        command += ["--exclude-checks", "positive_data_acceptance"]  # a file may not have what its endpoint shows
        done = subprocess.run(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        server.terminate()
    (place / "log.txt").write_bytes(done.stdout)
    requests = re.findall(rb"(\d+) generated", done.stdout) or [b"?"]
    result = "no fault" if done.returncode == 0 else f"FAULT: {place / 'log.txt'}"
    print(f"{API:<22}{requests[-1].decode():>12}{'':>16}  {result}", flush=True)
    return done.returncode == 0


def keep(name: str, corpus: Path) -> None:
    """Write some of the inputs that reached something new, one line of base64 each: small ones and larger ones, and
    those that were faults once, which are named after that."""
    found = sorted(path for path in corpus.iterdir() if path.stat().st_size <= KEPT_BYTES_MAX)
    kept = {path.read_bytes() for path in found if "-" in path.name}
    others = sorted((path.read_bytes() for path in found), key=lambda data: (len(data), data))
    kept.update(others[:: max(1, len(others) // KEPT_MAX)][:KEPT_MAX])
    file = ROOT / "tests" / "fuzz" / "found" / f"{name}.txt"
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(f"{base64.b64encode(data).decode()}\n" for data in sorted(kept)), "ascii")


def fuzz(name: str, seeds_from: str, *arguments: str) -> int:
    """Fuzz a target in this process, until libFuzzer ends it. `seeds_from`: `own` or `all`."""
    import atheris

    with atheris.instrument_imports(include=["inorder"], enable_loader_override=False):
        from tests.fuzz.targets import TARGETS

        target = TARGETS[name]
        seeds = [*target.seeds(), *(target.further_seeds() if seeds_from == "all" else ())]
        for seed in seeds:  # imports whatever is imported late
            target.check(seed)
    folder = WORK / name / f"{seeds_from}-seeds"
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds):
        (folder / f"{number:04}").write_bytes(seed)
    atheris.Setup([name, f"-max_len={target.bytes_max}", *arguments, str(folder)], target.check)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
