"""What the agent is told on its command line."""

from __future__ import annotations

import argparse
import os
import shlex
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

KMSG = "/dev/kmsg"
STDIN = "-"
NOTHING = "none"
AUTO, NVML, SMI = "auto", "nvml", "nvidia-smi"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Where to send, what to read, how often."""

    url: str  # of the server
    cluster: str
    node: str
    token: str
    state: Path  # the directory of the spool
    kernel_log: str  # a path, STDIN or NOTHING
    gpu_source: str  # AUTO, NVML, SMI or NOTHING
    smi: tuple[str, ...]  # the command that prints the report; empty: none
    imex: tuple[str, ...]  # the command that prints READY; empty: none
    product: str
    gpus: int  # that the node should have; 0: not known
    every_s: float
    heartbeat_s: float
    spool_mib: float
    once: bool  # read everything there is, send it, and end


def parse_options(arguments: Sequence[str]) -> Options:
    """The options; exits with a message where something is wrong."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.gpu_source == SMI and not _command(given.nvidia_smi):
        parser.error(f"--nvidia-smi: with --gpu-source {SMI} give the command, such as 'nvidia-smi -q -x'")
    parts = urlsplit(given.url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        parser.error(f"--url: {given.url!r} is no address; give http:// or https:// and a host")
    return Options(
        url=given.url.rstrip("/"),
        cluster=given.cluster,
        node=given.node,
        token=_token(parser, given.token_file),
        state=given.state,
        kernel_log=given.kernel_log,
        gpu_source=given.gpu_source,
        smi=_command(given.nvidia_smi),
        imex=_command(given.imex),
        product=given.product,
        gpus=given.gpus,
        every_s=given.every,
        heartbeat_s=given.heartbeat,
        spool_mib=given.spool_mib,
        once=given.once,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="slicekeeper_agent", description="Sends what this node's kernel and GPUs say to Slicekeeper.")
    parser.add_argument("--url", required=True, help="of the server, such as https://slicekeeper.example")
    parser.add_argument("--cluster", required=True, metavar="NAME")
    parser.add_argument("--node", default=socket.gethostname(), help="the node's name in the inventory (the host's name)")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="holds a token of the role signals (else SLICEKEEPER_TOKEN)")
    parser.add_argument("--state", type=Path, default=Path("/var/lib/slicekeeper-agent"), metavar="DIR", help="where unsent signals wait")
    parser.add_argument("--kernel-log", default=KMSG, metavar="FILE", help=f"{KMSG}, a file that grows, {STDIN} or {NOTHING}")
    parser.add_argument(
        "--gpu-source", choices=(AUTO, NVML, SMI, NOTHING), default=AUTO, help=f"{NVML} where nvidia-ml-py is installed, else {SMI}"
    )
    parser.add_argument(
        "--nvidia-smi", default="nvidia-smi -q -x", metavar="COMMAND", help=f"prints the report as XML; {NOTHING}: no GPUs are read"
    )
    parser.add_argument("--imex", default=NOTHING, metavar="COMMAND", help="prints READY when IMEX is, such as 'nvidia-imex-ctl -q' (none)")
    parser.add_argument("--product", default="", metavar="NAME", help="of the GPUs; the report tells it, too")
    parser.add_argument("--gpus", type=int, default=0, metavar="N", help="that the node should have")
    parser.add_argument("--every", type=float, default=30.0, metavar="SECONDS", help="between two reports of the GPUs")
    parser.add_argument("--heartbeat", type=float, default=30.0, metavar="SECONDS", help="between two signs of life")
    parser.add_argument("--spool-mib", type=float, default=16.0, metavar="MIB", help="the most that waits to be sent")
    parser.add_argument("--once", action="store_true", help="read what there is, send it, and end")
    return parser


def _token(parser: argparse.ArgumentParser, file: Path | None) -> str:
    if file is None:
        token = os.environ.get("SLICEKEEPER_TOKEN", "").strip()
    else:
        try:
            token = file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeError) as error:
            parser.error(f"--token-file: {str(file)!r} cannot be read ({error})")
    if not token.isascii() or not token.isprintable() or not token:
        parser.error("give a token with --token-file, or in SLICEKEEPER_TOKEN")
    return token


def _command(told: str) -> tuple[str, ...]:
    return () if told in ("", NOTHING) else tuple(shlex.split(told))
