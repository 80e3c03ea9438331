"""The engine that a description asks for."""

from typing import Any

import pytest

from inorder.engines import factory
from inorder.engines.factory import EngineSpec, create_engine, create_resizable_engine
from inorder.engines.inline import InlineEngine
from inorder.engines.process.engine import ProcessEngine
from inorder.engines.process.worker_process import ProcessOptions
from inorder.engines.ray import engine as ray_engine
from inorder.engines.ray.options import RayOptions
from inorder.engines.threads import ThreadEngine


@pytest.mark.parametrize(
    ("policy", "kind"), [("inline", InlineEngine), ("io", ThreadEngine), ("gpu", ThreadEngine), ("cpu", ProcessEngine)]
)
def test_the_policy_decides_what_a_local_worker_is(policy: Any, kind: type[Any]) -> None:
    engine = create_engine(str, EngineSpec(policy=policy, workers=1))
    try:
        assert type(engine) is kind
    finally:
        engine.close()


@pytest.mark.parametrize(
    ("spec", "has_processes"),
    [
        (EngineSpec(policy="io"), False),
        (EngineSpec(policy="cpu"), True),
        (EngineSpec(policy="io", engine="ray"), True),
    ],
)
def test_workers_are_processes_for_cpu_and_on_a_cluster(spec: EngineSpec, has_processes: bool) -> None:
    assert spec.has_processes is has_processes


@pytest.mark.parametrize(("policy", "count"), [("io", 6), ("cpu", 3), ("gpu", 3)])
def test_by_default_there_is_one_worker_per_cpu_and_two_for_io(
    policy: Any, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(factory, "count_cpus", lambda: 3)
    assert EngineSpec(policy=policy).worker_count == count
    assert EngineSpec(policy=policy, workers=7).worker_count == 7


@pytest.mark.parametrize(
    ("policy", "gpus", "expected"), [("io", 0.0, 0.0), ("cpu", 0.5, 0.5), ("gpu", 0.0, 1.0), ("gpu", 0.25, 0.25)]
)
def test_a_worker_of_the_policy_gpu_gets_a_gpu_on_a_cluster(
    policy: Any, gpus: float, expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    created: list[dict[str, Any]] = []
    monkeypatch.setattr(ray_engine, "RayEngine", lambda function, workers, **options: created.append(options))
    options = RayOptions(gpus=gpus)
    create_resizable_engine(
        str, EngineSpec(engine="ray", policy=policy, timeout_s=2.0, memory_bytes_max=2**30, ray=options)
    )
    [found] = created
    assert found["options"] == RayOptions(gpus=expected)
    assert found["limits"] == ProcessOptions(memory_bytes_max=2**30)
    assert found["timeout_s"] == 2.0
