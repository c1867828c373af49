"""One Slurm node, read by itself: its name, GPUs, condition and evidence.

Slurm tells the state of a node as a list of words, of which several can hold. Each word below raises one flag with Slurm's own reason; a
node out of reach is unreachable and not failed, since DOWN is then only what Slurm makes of its silence. Words about work (IDLE,
ALLOCATED, PLANNED, ...) say nothing of the node.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from clusters.domain.health import Flag
from clusters.inventory.fields import shape
from clusters.inventory.labels import joins_a_rack
from clusters.inventory.model import Problem, fatal, note
from clusters.inventory.names import NAME_RULE, is_name, plain
from clusters.inventory.node_facts import MAX_GPUS, NodeFacts, in_order, suspected

#: States that are doubts about the node, with the flags that they raise.
STATE_FLAGS = {
    **dict.fromkeys(("NOT_RESPONDING", "UNKNOWN"), Flag.UNREACHABLE),
    **dict.fromkeys(("POWERED_DOWN", "POWERING_DOWN", "POWERING_UP", "POWER_UP", "REBOOT_ISSUED"), Flag.UNREACHABLE),
    **dict.fromkeys(("DOWN", "ERROR"), Flag.FAILED),
    **dict.fromkeys(("FAIL", "FAILING"), Flag.QUARANTINED),
    **dict.fromkeys(("DRAIN", "DRAINED", "DRAINING", "MAINTENANCE", "MAINT", "POWER_DOWN", "POWER_DRAIN"), Flag.DRAINING),
    **dict.fromkeys(("INVALID_REG", "INVALID"), Flag.SUSPECT),
}
#: States of work, and of how the node came into Slurm.
QUIET = frozenset(
    "IDLE ALLOCATED MIXED COMPLETING PLANNED BLOCKED CLOUD DYNAMIC_NORM DYNAMIC_FUTURE UNDRAIN RESUME REBOOT_CANCELED PERFCTRS".split()
)
#: States that are worth keeping and decide nothing.
TOLD = frozenset(("RESERVED", "REBOOT_REQUESTED"))
#: A place in Slurm's configuration without a machine behind it.
FUTURE = "FUTURE"

_NOTHING = ("", "N/A", "(null)")
_BRACKETS = re.compile(r"\([^()]*\)")
_COUNT = re.compile(r"\d{1,9}", re.ASCII)
_TRES = re.compile(r"gres/gpu=(\d{1,9})", re.ASCII)
_RULE = "give gpu:COUNT or gpu:TYPE:COUNT, several with commas between them"


class SlurmReader:
    """Reads items; collects what is wrong with them."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.future: list[str] = []  # nodes that do not exist yet
        self.unheard: Counter[str] = Counter()  # states that this program does not know
        self._position = ""
        self._name = ""

    def read(self, position: str, item: object) -> NodeFacts | None:
        """The node; None where it does not exist yet, or with a fatal problem told."""
        self._position, self._name = position, ""
        if not isinstance(item, dict):
            self._refuse(f"this is {shape(item)}; give a node with name, state and gres")
            return None
        name = item.get("name")
        if not isinstance(name, str) or not is_name(name):
            self._refuse(f"name is {shape(name)}; {NAME_RULE}")
            return None
        self._name = plain(name, 60)
        states = self._states(item)
        if states is None:
            return None
        if FUTURE in states:
            self.future.append(name)
            return None
        return self._facts(name, states, item)

    def _facts(self, name: str, states: tuple[str, ...], item: dict[str, object]) -> NodeFacts:
        types, gpus, doubt = self._gpus(item)
        flags = flags_of(states, self._text(item, "reason"))
        self.unheard.update(state for state in states if state not in STATE_FLAGS and state not in QUIET | TOLD)
        return NodeFacts(
            name=name,
            position=self._position,
            labels={},
            gpus=gpus,
            product=plain(", ".join(types)),
            rack_scale=joins_a_rack([*types, *self._words(item, "features"), self._text(item, "instance_type")]),
            virtual=False,
            flags=in_order(suspected(flags, doubt)),
            evidence=self._evidence(states, flags, item),
        )

    def _states(self, item: dict[str, object]) -> tuple[str, ...] | None:
        told = item.get("state")
        words = state_words(told, item.get("state_flags", []))
        if words is None:
            self._refuse(f'state is {shape(told)}; give a list of states, like ["IDLE", "DRAIN"]')
        return words

    def _gpus(self, item: dict[str, object]) -> tuple[tuple[str, ...], int, str]:
        """Types and number of GPUs, and what is doubtful about them."""
        types, gpus = self._gres("gres", item)
        _, drained = self._gres("gres_drained", item)
        tres = _TRES.search(self._text(item, "tres"))
        total = int(tres[1]) if tres else gpus
        if gpus and total != gpus:
            told = f"gres has {gpus} GPUs, tres has {total}"
            self.problems.append(note(self._position, self._name, f"{told}: {max(gpus, total)} taken; make them agree"))
        doubt = f"gres has {gpus} of its {total} GPUs" if 0 < gpus < total else ""
        doubt = f"gres_drained has {drained} of its {max(gpus, total)} GPUs" if drained else doubt
        if max(gpus, total) > MAX_GPUS:
            self._refuse(f"it has {max(gpus, total)} GPUs; give at most {MAX_GPUS}")
        return types, max(gpus, total), doubt

    def _gres(self, key: str, item: dict[str, object]) -> tuple[tuple[str, ...], int]:
        """`gpu:h100:4(S:0-1),nvme:1` to (("h100",), 4): types in order, and the number of GPUs."""
        text = self._text(item, key)
        types: dict[str, None] = {}
        total = 0
        for entry in _BRACKETS.sub("", "" if text in _NOTHING else text).split(","):
            kind, *rest = [part for part in entry.strip().split(":") if part != "no_consume"]
            if kind != "gpu":
                continue
            if len(rest) > 2 or (rest and not _COUNT.fullmatch(rest[-1])):
                self._refuse(f"{key} is {plain(text, 60)!r}; {_RULE}")
                return (), 0
            total += int(rest[-1]) if rest else 1
            types |= dict.fromkeys(rest[:-1])
        return tuple(sorted(types)), total

    def _evidence(self, states: Iterable[str], flags: Mapping[Flag, str], item: dict[str, object]) -> tuple[str, ...]:
        """What is not quite usual and raises no flag."""
        told = [state for state in states if state not in STATE_FLAGS and state not in QUIET]
        reason = self._text(item, "reason")
        return tuple(sorted((*told, *([plain(f"reason: {reason}")] if reason and not flags else []))))

    def _text(self, item: dict[str, object], key: str) -> str:
        value = item.get(key)
        if value is None or isinstance(value, str):
            return plain(value or "")
        self._refuse(f"{key} is {shape(value)}; give text")
        return ""

    def _words(self, item: dict[str, object], key: str) -> list[str]:
        """A list of texts; older versions have them in one text."""
        value = item.get(key)
        words = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
        return [word for word in words if isinstance(word, str)]

    def _refuse(self, message: str) -> None:
        self.problems.append(fatal(self._position, self._name, message))


def state_words(told: object, more: object) -> tuple[str, ...] | None:
    """The words of a state: a list; older versions have one text and more words beside it. None where it is neither."""
    words = told if isinstance(told, list) else told.split("+") if isinstance(told, str) else None
    if words is None or not isinstance(more, list) or not all(isinstance(word, str) for word in (*words, *more)):
        return None
    return tuple(dict.fromkeys(plain(word, 40).upper() for word in (*words, *more) if word.strip())) or ("UNKNOWN",)


def flags_of(states: Iterable[str], reason: str) -> dict[Flag, str]:
    """The doubts about a node, each with the states it follows from and Slurm's reason."""
    found: dict[Flag, list[str]] = {}
    for state in states:
        if state in STATE_FLAGS:
            found.setdefault(STATE_FLAGS[state], []).append(state)
    if Flag.UNREACHABLE in found:
        found.pop(Flag.FAILED, None)
    return {flag: plain("+".join(sorted(words)) + (f": {reason}" if reason else "")) for flag, words in found.items()}
