"""Connections between the workers of a job: where they are made, and messages on them.

A message is a small JSON header and a block of bytes. Workers on one machine find each other by socket files in a directory
(SLICEKEEPER_SOCKETS); otherwise by the names of their nodes and one port for the job (SLICEKEEPER_PORT).
"""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

#: The port of workers that nobody has given one.
PORT = 29_400

#: Bytes of the largest message: more is no message of ours.
MOST_HEADER = 1 << 16
MOST_BYTES = 1 << 33

_SIZES = struct.Struct(">IQ")

Header = dict[str, Any]


class Broken(Exception):
    """The other side is gone, or says what makes no sense."""


class Wire:
    """One connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection

    def fileno(self) -> int:
        """To wait for what comes."""
        return self._socket.fileno()

    def patience(self, seconds: float) -> None:
        """How long each step of sending and receiving may take from here on."""
        self._socket.settimeout(seconds)

    def send(self, header: Header, block: bytes | bytearray | memoryview = b"") -> None:
        """Send a message; raises Broken."""
        head = json.dumps(header).encode()
        try:
            self._socket.sendall(_SIZES.pack(len(head), len(block)) + head)
            if block:
                self._socket.sendall(block)
        except OSError as error:
            raise Broken(f"cannot send: {error}") from None

    def receive(self) -> tuple[Header, bytearray]:
        """The next message; raises Broken."""
        head, body = _SIZES.unpack(self._exactly(_SIZES.size))
        if head > MOST_HEADER or body > MOST_BYTES:
            raise Broken(f"a message of {head} + {body} bytes is none of ours")
        try:
            header = json.loads(self._exactly(head))
        except ValueError as error:
            raise Broken(f"not a message of ours: {error}") from None
        return header, self._exactly(body)

    def close(self) -> None:
        """Hang up; the other side finds out at once."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _exactly(self, size: int) -> bytearray:
        block = bytearray(size)
        view, got = memoryview(block), 0
        while got < size:
            try:
                piece = self._socket.recv_into(view[got:])
            except OSError as error:
                raise Broken(f"cannot receive: {error}") from None
            if not piece:
                raise Broken("the other side has hung up")
            got += piece
        return block


class Places:
    """Where workers of one job listen."""

    def __init__(self, job: str, environ: Mapping[str, str] = os.environ) -> None:
        self._job = job
        self._directory = environ.get("SLICEKEEPER_SOCKETS", "")
        self._port = int(environ.get("SLICEKEEPER_PORT", PORT))

    def listen(self, node: str) -> socket.socket:
        """Listen as the worker of a node; raises Broken where that is not possible now."""
        try:
            listener = _listen_file(self._file(node)) if self._directory else socket.create_server(("", self._port), reuse_port=False)
        except OSError as error:
            where = f"at {self._file(node)}" if self._directory else f"at port {self._port} (SLICEKEEPER_PORT names another)"
            raise Broken(f"cannot listen {where}: {error}") from None
        listener.listen(4_096)
        return listener

    def connect(self, node: str, seconds: float) -> Wire:
        """A connection to the worker of a node; raises Broken."""
        try:
            if self._directory:
                return Wire(_connect_file(self._file(node), seconds))
            return Wire(socket.create_connection((node, self._port), timeout=seconds))
        except OSError as error:
            raise Broken(f"cannot reach {node}: {error}") from None

    def _file(self, node: str) -> Path:
        return Path(self._directory) / f"{self._job}-{node}.sock"


def _listen_file(file: Path) -> socket.socket:
    file.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(str(file))
    except OSError:
        listener.close()
        raise
    return listener


def _connect_file(file: Path, seconds: float) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(seconds)
        connection.connect(str(file))
    except OSError:
        connection.close()
        raise
    return connection
