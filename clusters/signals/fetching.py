"""Asking an address of the network, within limits.

The address is looked up once and that very address is connected to, so a name cannot lead somewhere else in between. Nothing is followed:
an answer that sends us elsewhere is an error. Addresses that no monitoring lives at are refused (multicast; link-local, where clouds keep
their metadata), and this machine's own unless the URL says so by its name.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import time
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from clusters.domain.errors import InvalidRequest

TIMEOUT_SECONDS = 5.0
#: From the first byte sent to the last one read.
DEADLINE_SECONDS = 20.0
MAX_BYTES = 32 * 1024 * 1024
CHUNK = 64 * 1024

#: The variable that holds a source's token is this and the source's name in capitals, with _ for what is no letter or digit.
TOKEN_VARIABLE = "SLICEKEEPER_SIGNAL_TOKEN_"

_PORTS = {"http": 80, "https": 443}
#: Characters of a URL's path and query that go as they are; quotes and braces of a Prometheus selector do not.
_AS_THEY_ARE = "%/:=&?~+!$,;'@()*[]-._"
_LOCAL_NAMES = ("localhost", "localhost.localdomain", "ip6-localhost")


class FetchError(Exception):
    """The address gave no answer that could be used; says why in words."""


def check_url(url: str) -> str:
    """The URL, if it is one that may be asked; raises InvalidRequest."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise InvalidRequest("url", url[:200], "give an address such as http://host:9093/api/v2/alerts") from None
    fits = parts.scheme in _PORTS and bool(parts.hostname) and not parts.username and not parts.password and url.isprintable()
    if not fits or " " in url or port == 0:
        raise InvalidRequest("url", url[:200], "give http:// or https://, a host, and no name or password in it")
    return url


def fetch(url: str, headers: Mapping[str, str] | None = None) -> bytes:
    """The body of the answer; raises FetchError."""
    parts = urlsplit(check_url(url))
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    connection = _connection(parts.scheme, host, port)
    target = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=_AS_THEY_ARE)
    sent = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "slicekeeper", "Connection": "close", **(headers or {})}
    end = time.monotonic() + DEADLINE_SECONDS
    try:
        connection.request("GET", target, headers=sent)
        answer = connection.getresponse()
        if not 200 <= answer.status < 300:
            raise FetchError(f"it answered {answer.status} {answer.reason[:60]}")
        return _body(answer, end)
    except (OSError, http.client.HTTPException, ValueError) as error:  # ValueError: a header that cannot be sent
        raise FetchError(f"{type(error).__name__}: {error}"[:200]) from error
    finally:
        connection.close()


def _body(answer: http.client.HTTPResponse, end: float) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while chunk := answer.read(CHUNK):
        chunks.append(chunk)
        size += len(chunk)
        if size > MAX_BYTES:
            raise FetchError(f"the answer has more than {MAX_BYTES // 2**20} MiB")
        if time.monotonic() > end:
            raise FetchError(f"the answer took more than {DEADLINE_SECONDS:g} s")
    return b"".join(chunks)


def _connection(scheme: str, host: str, port: int) -> http.client.HTTPConnection:
    address = _address(host, port)
    if scheme == "https":
        return _PinnedHttps(host, port, address)
    return _Pinned(host, port, address)


class _Pinned(http.client.HTTPConnection):
    """Connects to the address that was checked, whatever the name says by now."""

    def __init__(self, host: str, port: int, address: str) -> None:
        super().__init__(host, port, timeout=TIMEOUT_SECONDS)
        self._address = address

    def connect(self) -> None:
        self.sock = socket.create_connection((self._address, self.port), self.timeout)


class _PinnedHttps(_Pinned):
    """The same with the certificate of the name."""

    def connect(self) -> None:
        super().connect()
        self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)


def _address(host: str, port: int) -> str:
    """The first address of the host, if all of its addresses may be asked."""
    try:
        found = [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError) as error:
        raise FetchError(f"the host {host[:80]!r} cannot be looked up: {error}") from error
    for address in found:
        if not _may_be_asked(address, host):
            raise FetchError(f"the host {host[:80]!r} is {address}, which is not asked")
    if not found:
        raise FetchError(f"the host {host[:80]!r} has no address")
    return found[0]


def _may_be_asked(address: str, host: str) -> bool:
    known = ipaddress.ip_address(address.partition("%")[0])
    inner = getattr(known, "ipv4_mapped", None) or known
    if inner.is_link_local or inner.is_multicast or inner.is_unspecified or (inner.is_reserved and not inner.is_loopback):
        return False
    return not inner.is_loopback or _says_local(host)


def _says_local(host: str) -> bool:
    if host.lower() in _LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
