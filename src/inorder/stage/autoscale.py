"""Autoscaling: how many workers a stage has, decided by a rule from measurements.

The number follows throughput, which counts items that succeed. A *trial* takes one step up. If throughput rose by a
good part of the step, p95 stayed and failures are rare, the number stays and the next trial follows. Otherwise it goes
back and is measured again, because the first measurement may have been a lucky one. If more workers bring nothing,
trials take steps down, as long as that costs no throughput. Trials that change nothing become rarer.

Besides, the number falls by a third when p95 jumps while throughput drops, and when failures become frequent. If fewer
workers do not make failures rarer, the items are the cause: the number goes back, and that share counts as usual.

A measurement begins when every worker has delivered since the last change, and lasts until each has delivered a few
items. Until the first item of a run is done there is nothing to measure: the number rises by one per second while every
worker is busy and items wait. Items do not know how many workers there are, so results do not change.
"""

from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import NamedTuple

from inorder.core.events import Envelope
from inorder.core.transitions import State
from inorder.engines.base import ResizableEngine

from .monitor.histograms import Histogram

GAIN = 0.3
"""A step up stays if throughput rose by at least this part of it."""
LOSS_MAX = 0.07
"""A step down stays if throughput fell by at most this share."""
SPIKE = 1.5
"""A p95 of this many times the usual one is too long, if items take longer on the whole, too."""
SLOWER = 1.15
"""A mean of this many times the usual one is longer. The p95 of items of which a few are long jumps by itself."""
DROP, RISE = 0.7, 1.25
"""A throughput below this share of the usual one is a drop; one above this multiple asks for a trial."""
SAME = 0.8
"""If the share of failures stays above this part of what it was, fewer workers did not make failures rarer."""
FAILURE_SHARE_MAX = 0.1
"""Failures above this share, beyond those that do not depend on the number of workers, are frequent."""
PATIENCE = 8
PATIENCE_MAX = 64
"""Measurements between two trials, after one that changed nothing. Doubles each time."""
DECISION_MS = 500
ITEMS_MIN, ITEMS_PER_WORKER = 20, 3
"""Shorter measurements, and those of fewer items, say nothing."""
ERROR_MAX = 0.1
DECISION_MS_MAX = 5000
"""A measurement goes on until the standard error of the mean is below this share of it, or for so long."""
BLIND_MS = 1000

_FAIL = int(State.TERMINAL_FAIL)
_SKIP = int(State.TERMINAL_SKIP)


class LoadSample(NamedTuple):
    """What was measured with one number of workers."""

    items: int
    failures: int
    rate: float
    """Items that succeeded, per second."""
    mean_ms: float
    p95_ms: float
    is_saturated: bool = True
    """Whether every worker is busy and items are waiting."""

    def is_slower(self, usual: "LoadSample") -> bool:
        """Whether items take much longer than usual."""
        return self.p95_ms > SPIKE * usual.p95_ms and self.mean_ms > SLOWER * usual.mean_ms

    @property
    def failure_share(self) -> float:
        """Failures per item."""
        return self.failures / max(1, self.items)


class _Aim(Enum):
    UP = auto()
    BACK = auto()
    """After a step up that brought too little: was it measured well before?"""
    DOWN = auto()
    FEWER_FAILURES = auto()


class _Trial(NamedTuple):
    """Another number of workers that is being measured, and what was measured before."""

    aim: _Aim
    workers: int
    before: LoadSample


class AutoscaleRule:
    """The number of workers, between 1 and `workers_max`. It reads no clock."""

    def __init__(self, workers_max: int) -> None:
        self._workers_max = workers_max
        self.workers = max(1, workers_max // 2)
        self._trial: _Trial | None = None
        self._usual: LoadSample | None = None
        self._usual_failure_share = 0.0
        self._least = 0
        """Fewer workers than this were tried and cost throughput."""
        self._patience = PATIENCE
        self._wait = 0
        """Measurements until the next trial."""

    def rise_blindly(self) -> int:
        """Return the number of workers from now on, if no item has ended yet and every worker is busy."""
        self.workers = min(self._workers_max, self.workers + 1)
        return self.workers

    def decide(self, sample: LoadSample) -> int:
        """Return the number of workers from now on."""
        trial, self._trial = self._trial, None
        if self._is_failing(sample):
            self._fall_for_failures(sample, trial)
        elif trial is None or trial.aim is _Aim.FEWER_FAILURES:
            self._go_on(sample)
        elif trial.aim is _Aim.UP:
            self._judge_step_up(sample, trial)
        elif trial.aim is _Aim.BACK:
            self._judge_step_back(sample, trial)
        else:
            self._judge_step_down(sample, trial)
        return self.workers

    def _is_failing(self, sample: LoadSample) -> bool:
        return sample.failure_share > self._usual_failure_share + FAILURE_SHARE_MAX

    def _fall_for_failures(self, sample: LoadSample, trial: _Trial | None) -> None:
        """Fall, unless an earlier fall has not made failures rarer, or only one worker is left: then they are usual."""
        if trial is not None and trial.aim is _Aim.UP:
            self.workers = trial.workers
            self._rest()
            return
        self._step_down(sample, _Aim.FEWER_FAILURES)
        if trial is not None and trial.aim is _Aim.FEWER_FAILURES:
            has_helped = sample.failure_share < SAME * trial.before.failure_share
            if not has_helped:
                self.workers, self._trial = trial.workers, None
        if self._trial is None:
            self._usual_failure_share, self._usual, self._wait = sample.failure_share, None, 0

    def _go_on(self, sample: LoadSample) -> None:
        usual = self._usual
        if usual is not None and sample.is_slower(usual) and sample.rate < DROP * usual.rate:
            self.workers = _fall(self.workers)
            self._usual, self._least, self._wait, self._patience = None, 0, 1, PATIENCE
            return
        if usual is not None and sample.rate > RISE * usual.rate:
            self._wait, self._patience = 0, PATIENCE
        self._usual = sample if usual is None else _blend(usual, sample)
        if self._wait > 0:
            self._wait -= 1
        elif sample.is_saturated and self.workers < self._workers_max:
            self._step_up(self._usual)
        elif self.workers == self._workers_max and self._least == 0:
            self._step_down(self._usual, _Aim.DOWN)

    def _judge_step_up(self, sample: LoadSample, trial: _Trial) -> None:
        if not _has_gained(self.workers, sample, trial.workers, trial.before):
            self._begin(_Aim.BACK, sample, trial.workers)
            return
        self._usual, self._least, self._patience = sample, self.workers, PATIENCE
        if sample.is_saturated and self.workers < self._workers_max:
            self._step_up(sample)

    def _judge_step_back(self, sample: LoadSample, trial: _Trial) -> None:
        """Decide with a second measurement of the number before the step: up again, or less, unless that is known to
        cost throughput."""
        self._usual = sample
        if _has_gained(trial.workers, trial.before, self.workers, sample):
            self.workers = self._least = trial.workers
            self._usual, self._wait, self._patience = None, 0, PATIENCE
        elif self.workers > max(1, self._least):
            self._step_down(sample, _Aim.DOWN)
        else:
            self._rest()

    def _judge_step_down(self, sample: LoadSample, trial: _Trial) -> None:
        if sample.rate < (1 - LOSS_MAX) * trial.before.rate:
            self.workers = self._least = trial.workers
            self._rest()
            return
        self._usual = sample
        self._step_down(sample._replace(rate=max(sample.rate, trial.before.rate)), _Aim.DOWN)
        if self._trial is None:
            self._rest()

    def _rest(self) -> None:
        self._wait = self._patience
        self._patience = min(PATIENCE_MAX, 2 * self._patience)

    def _step_up(self, sample: LoadSample) -> None:
        self._begin(_Aim.UP, sample, min(self._workers_max, self.workers + max(1, self.workers // 2)))

    def _step_down(self, sample: LoadSample, aim: _Aim) -> None:
        self._begin(aim, sample, _fall(self.workers))

    def _begin(self, aim: _Aim, sample: LoadSample, workers: int) -> None:
        if workers != self.workers:
            self._trial = _Trial(aim, self.workers, sample)
            self.workers = workers


def _has_gained(workers: int, sample: LoadSample, workers_before: int, before: LoadSample) -> bool:
    """Whether throughput rose by enough with more workers, and items do not take much longer."""
    wanted = before.rate * (1 + GAIN * (workers / workers_before - 1))
    return sample.rate >= wanted and not sample.is_slower(before)


def _fall(workers: int) -> int:
    return max(1, workers * 2 // 3)


def _blend(usual: LoadSample, sample: LoadSample) -> LoadSample:
    """Return what is usual, in which this sample counts a quarter."""
    return sample._replace(
        rate=0.75 * usual.rate + 0.25 * sample.rate,
        mean_ms=0.75 * usual.mean_ms + 0.25 * sample.mean_ms,
        p95_ms=0.75 * usual.p95_ms + 0.25 * sample.p95_ms,
    )


class StageAutoscaler:
    """Feeds the rule with measurements, and resizes the engine to its decisions. `is_saturated` says whether every
    worker is busy and items are waiting. Must be called on the thread that uses the engine."""

    def __init__(
        self, engine: ResizableEngine, workers_max: int, is_saturated: Callable[[], bool], now_ms: int
    ) -> None:
        self._engine = engine
        self._is_saturated = is_saturated
        self._rule = AutoscaleRule(workers_max)
        self._delivered: set[int] = set()
        self._settling = 0
        """Attempts after which a measurement begins although some workers have not delivered."""
        self._has_delivered = False
        """Whether an item of the run has ended."""
        self._begin(now_ms)
        engine.resize(self._rule.workers)

    @property
    def workers(self) -> int:
        """The current number of workers."""
        return self._rule.workers

    def record(self, worker: int, envelopes: Sequence[Envelope], now_ms: int) -> None:
        """Add attempts that ended. Those before every worker has delivered since the last change do not count."""
        for envelope in envelopes:
            if envelope.outcome != _SKIP:
                self._has_delivered = True
                self._record(worker, envelope, now_ms)

    def _record(self, worker: int, envelope: Envelope, now_ms: int) -> None:
        if self._settling > 0 and len(self._delivered) < self.workers:
            self._settling -= 1
            self._delivered.add(worker)
            self._since_ms = now_ms
            return
        self._recent.record(envelope.exec_ms)
        self._squares += envelope.exec_ms**2
        self._failures += envelope.outcome == _FAIL

    def adjust(self, now_ms: int) -> None:
        """Decide, if there is enough to decide from."""
        elapsed_ms = now_ms - self._since_ms
        if not self._has_delivered:
            if elapsed_ms >= BLIND_MS:
                self._since_ms = now_ms
                if self._is_saturated():
                    self._resize(self._rule.rise_blindly, now_ms)
            return
        if elapsed_ms < DECISION_MS or self._recent.count < max(ITEMS_MIN, ITEMS_PER_WORKER * self.workers):
            return
        if elapsed_ms >= DECISION_MS_MAX or self._is_exact():
            sample = self._make_sample(elapsed_ms)
            self._resize(lambda: self._rule.decide(sample), now_ms)

    def _is_exact(self) -> bool:
        """Whether the standard error of the mean is small enough."""
        count, total = self._recent.count, self._recent.total
        variance = max(0.0, self._squares / count - (total / count) ** 2)
        return variance * count <= (ERROR_MAX * total) ** 2

    def _make_sample(self, elapsed_ms: float) -> LoadSample:
        recent = self._recent
        return LoadSample(
            items=recent.count,
            failures=self._failures,
            rate=(recent.count - self._failures) / max(1.0, elapsed_ms) * 1000,
            mean_ms=recent.total / recent.count,
            p95_ms=recent.quantile(0.95),
            is_saturated=self._is_saturated(),
        )

    def _resize(self, decide: Callable[[], int], now_ms: int) -> None:
        before = self.workers
        wanted = decide()
        self._begin(now_ms, is_settled=wanted == before)
        if wanted != before:
            self._engine.resize(wanted)

    def _begin(self, now_ms: int, *, is_settled: bool = False) -> None:
        """Begin a measurement. Settled: every worker has delivered."""
        self._recent, self._squares, self._failures, self._since_ms = Histogram(), 0.0, 0, now_ms
        self._delivered.clear()
        self._settling = 0 if is_settled else 2 * self.workers
