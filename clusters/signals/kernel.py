"""Kernel log lines: Xids of GPUs, SXids of NVSwitches, GPUs that fell off the bus.

Lines come as dmesg, journalctl, syslog or /dev/kmsg print them. Only those of NVIDIA's driver say anything; all others are passed over in
silence. A time counts only where the line gives its zone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

from clusters.domain.ids import LAST_INSTANT, Instant
from clusters.signals.model import Collector, Parsed, Signal, instant_of
from clusters.signals.xids import Meaning, sxid_meaning, xid_meaning

CHECK = "kernel"
#: What is said of a switch and not of the node: checks that begin so take the racks of the domain out of new work.
SWITCH_CHECK = "switch"
#: Characters of a line that are looked at.
MAX_LINE = 2_000
ID_BYTES = 12

_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F.:]{4,20})[^)]{0,80}\): (\d{1,5})\b,? ?(.*)")
_SXID = re.compile(r"nvidia-nvswitch(\d{1,3}): SXid \((?:PCI:)?[0-9a-fA-F.:]{4,20}\): (\d{1,6})\b,? ?(.*)")
_OFF_BUS = re.compile(r"NVRM: GPU (?:at )?(?:PCI:)?([0-9a-fA-F.:]{4,20}): GPU has fallen off the bus")
_BROKEN = re.compile(r"NVRM: Xid|nvswitch\d{0,3}: SXid")
#: /dev/kmsg: priority, sequence, microseconds since the boot, flags; then the text.
_KMSG = re.compile(r"\d{1,6},(\d{1,20}),(\d{1,20}),[^;]{0,40};(.*)")
_STAMPED = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d))\s+(\S{1,253})\s")
_OFF_BUS_XID = 79


class _Log(NamedTuple):
    node: str
    product: str
    boot: str
    booted_at: Instant | None


def parse(lines: Iterable[str], node: str = "", *, product: str = "", boot: str = "", booted_at: Instant | None = None) -> Parsed:
    """The signals of kernel log lines.

    `node` names whose log it is; "" where each line names its host. `product` is the GPUs' name, if known. `boot` is the id of the boot,
    which makes positions in /dev/kmsg unique, and `booted_at` its wall time, which the times there count from.
    """
    found = Collector()
    log = _Log(node, product, boot, booted_at)
    for number, line in enumerate(lines, start=1):
        _read(found, f"line {number}", line[:MAX_LINE].rstrip("\r\n"), log)
    return found.parsed()


def _read(found: Collector, position: str, line: str, log: _Log) -> None:
    kmsg = _KMSG.match(line)
    body = kmsg[3] if kmsg else line
    meant = _meaning(body, log.product)
    if meant is None:
        if _BROKEN.search(body):
            found.refuse(position, f"an Xid without a number: {body[-120:]}")
        return
    code, component, message, meaning = meant
    host, at = _stamp(line)
    if kmsg and log.booted_at is not None:
        at = min(log.booted_at + int(kmsg[2]), LAST_INSTANT)
    signal = Signal(
        node=log.node or host,
        code=code,
        kind=meaning.kind,
        scope=meaning.scope,
        check=SWITCH_CHECK if code.startswith("sxid:") else CHECK,
        component=component,
        text=meaning.worded(f"{meaning.name}: {message}" if message else meaning.name),
        action=meaning.action,
        evidence=(body[body.find("NVRM:") if "NVRM:" in body else body.find("nvidia-nvswitch") :],),
        occurred_at=at,
        id=f"{log.boot}/{kmsg[1]}" if kmsg and log.boot else _digest(line) if at is not None else "",
    )
    found.add(position, signal)


def _meaning(body: str, product: str) -> tuple[str, str, str, Meaning] | None:
    """(code, component, message, meaning) of a line; None where it says nothing."""
    if (xid := _XID.search(body)) is not None:
        return f"xid:{int(xid[2])}", f"gpu {_pci(xid[1])}", xid[3], xid_meaning(int(xid[2]), xid[3], product)
    if (sxid := _SXID.search(body)) is not None:
        return f"sxid:{int(sxid[2])}", f"switch {int(sxid[1])}", sxid[3], sxid_meaning(int(sxid[2]), sxid[3])
    if (lost := _OFF_BUS.search(body)) is not None:
        return f"xid:{_OFF_BUS_XID}", f"gpu {_pci(lost[1])}", "", xid_meaning(_OFF_BUS_XID, "", product)
    return None


def _pci(told: str) -> str:
    """A PCI address as all sources write it: domain of four digits, no function. `00000008:01:00.0` and `8:01:00` are one."""
    parts = told.lower().partition(".")[0].split(":")
    domain = parts[-3] if len(parts) > 2 else "0"
    return ":".join((f"{int(domain or '0', 16):04x}", *parts[-2:]))


def pci_of(told: str) -> str:
    """The same for texts that may be anything; as told where it is no address."""
    return _pci(told) if re.fullmatch(r"([0-9a-fA-F]{1,8}:)?[0-9a-fA-F]{1,2}:[0-9a-fA-F]{1,2}(\.\d)?", told) else told


def _stamp(line: str) -> tuple[str, Instant | None]:
    """Host and time of a line of journalctl's or syslog's with a full date."""
    told = _STAMPED.match(line)
    return (told[2], instant_of(told[1].replace(",", "."))) if told else ("", None)


def _digest(line: str) -> str:
    return blake2b(line.encode("utf-8", "surrogatepass"), digest_size=ID_BYTES).hexdigest()
