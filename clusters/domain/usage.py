"""What teams use: GPUs held now, and GPU-seconds used before, which count half after each half-life.

All in whole numbers, so that every replay comes to the same sums. Past use fades in steps of a sixtieth of the half-life: within a step it
counts in full, and at its end everything before is multiplied by 2^(-1/60). That needs no history, only what was counted and until when.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from clusters.domain.ids import HOUR, Instant

STEPS = 60  # of one half-life
_BITS = 40
_ONE = 1 << _BITS
#: 2^(-i/60) in units of 2^-40.
_FADE = tuple(int(Decimal(2) ** (Decimal(-step) / STEPS) * _ONE) for step in range(STEPS))
#: The sum of 2^(-i/60) over all i from 1, likewise.
_FOREVER = int(_ONE / (Decimal(2) ** (Decimal(1) / STEPS) - 1))


def fade(amount: int, steps: int) -> int:
    """The amount after so many steps."""
    halves, rest = divmod(steps, STEPS)
    return amount * _FADE[rest] >> _BITS + halves


class TeamUse:
    """One team's use, counted up to `since`."""

    __slots__ = ("gpus", "since", "spent")

    def __init__(self, gpus: int = 0, spent: int = 0, since: Instant = 0) -> None:
        self.gpus = gpus
        self.spent = spent  # GPU-microseconds
        self.since = since

    def spent_at(self, now: Instant, half_life_h: int) -> int:
        """Faded GPU-microseconds used before `now`; 0 where past use does not count."""
        if not half_life_h:
            return 0
        now = max(now, self.since)
        step = half_life_h * HOUR // STEPS
        ended = now // step - self.since // step
        if not ended:
            return self.spent + self.gpus * (now - self.since)
        begun = step - self.since % step
        whole = self.gpus * step * (_FOREVER - fade(_FOREVER, ended - 1)) >> _BITS
        return fade(self.spent + self.gpus * begun, ended) + whole + self.gpus * (now % step)

    def change(self, gpus: int, at: Instant, half_life_h: int) -> None:
        """The team holds so many more GPUs from `at` on, or fewer."""
        self.spent = self.spent_at(at, half_life_h)
        self.since = max(at, self.since)
        self.gpus += gpus


class Usage:
    """The use of all teams, kept by the fold."""

    __slots__ = ("teams",)

    def __init__(self) -> None:
        self.teams: dict[str, TeamUse] = {}

    def change(self, team: str, gpus: int, at: Instant, half_life_h: int) -> None:
        """A job of the team got so many GPUs, or gave them back. A team that neither holds nor is owed anything is forgotten."""
        use = self.teams.get(team)
        if use is None:
            use = self.teams[team] = TeamUse(since=at)
        use.change(gpus, at, half_life_h)
        if not (use.gpus or use.spent):
            del self.teams[team]

    def settle(self, at: Instant, half_life_h: int) -> None:
        """Count up to `at` by the half-life that held until then."""
        for team in list(self.teams):
            self.change(team, 0, at, half_life_h)

    def gpus(self, team: str) -> int:
        """GPUs that the team's jobs hold now, those that are stopping included."""
        use = self.teams.get(team)
        return use.gpus if use is not None else 0

    def dump(self) -> list[list[int | str]]:
        """Rows of team, GPUs, GPU-microseconds (as text: they may pass 64 bits) and until when they are counted."""
        return [[team, use.gpus, str(use.spent), use.since] for team, use in sorted(self.teams.items())]

    def load(self, rows: Iterable[tuple[str, int, str, Instant]]) -> None:
        """What `dump` gave."""
        self.teams = {team: TeamUse(gpus, int(spent), since) for team, gpus, spent, since in rows}
