"""Plan who stands which watch: fair shares, no more than two nights in a row, and wishes where they fit."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import date, timedelta

NIGHTS_IN_A_ROW_MAX = 2


@dataclass
class Keeper:
    name: str
    away: set[date] = field(default_factory=set)


def plan_rota(keepers: list[Keeper], first: date, days: int) -> dict[date, str]:
    """A keeper for every night. Whoever has stood the fewest watches comes first."""
    watches: Counter[str] = Counter()
    rota: dict[date, str] = {}
    for offset in range(days):
        day = first + timedelta(days=offset)
        free = [keeper for keeper in keepers if day not in keeper.away and not _is_tired(keeper.name, day, rota)]
        if not free:
            raise ValueError(f"nobody can stand the watch of {day}")
        chosen = min(free, key=lambda keeper: (watches[keeper.name], keeper.name))
        watches[chosen.name] += 1
        rota[day] = chosen.name
    return rota


def _is_tired(name: str, day: date, rota: dict[date, str]) -> bool:
    """Whether a keeper has stood the last nights and must sleep."""
    before = [rota.get(day - timedelta(days=back)) for back in range(1, NIGHTS_IN_A_ROW_MAX + 1)]
    return all(other == name for other in before)


def swap(rota: dict[date, str], one: date, other: date) -> None:
    """Exchange two watches, as written on the board by noon of the day before."""
    rota[one], rota[other] = rota[other], rota[one]
