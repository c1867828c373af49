"""Events and decision records to JSON and back, and the digest of an event's content.

One decoder is built for each kind, so decoding a payload costs about a microsecond and checks every type. Older versions take the slow
way through their upcasters. Commands inside decision records only ever gain fields that have defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Any

import msgspec

from clusters.domain.commands import Command
from clusters.domain.decision import DecisionRecord
from clusters.domain.errors import BrokenInvariant, ClusterError, InvalidRequest, UnknownEvent
from clusters.domain.events import PAYLOADS, Event, Payload
from clusters.eventlog.facts import subject_at
from clusters.eventlog.storage import Audited
from clusters.eventlog.upcasters import upcast

DIGEST_BYTES = 16  # of content digests and checksums: 128 bits

#: An event as stored: the envelope's fields in order, the payload as JSON text.
Row = tuple[int, str, int, int, int, str, str, str, str, int | None, int | None, str]

_encode = msgspec.json.encode
_DECODERS: dict[str, tuple[int, Callable[[str], Payload]]] = {
    kind: (cls.VERSION, msgspec.json.Decoder(cls).decode) for kind, cls in PAYLOADS.items()
}
_COMMANDS: dict[str, type[Command]] = {cls.__name__: cls for cls in Command.__args__}
_UNREADABLE = (msgspec.MsgspecError, InvalidRequest, UnicodeError)


def encode_payload(payload: Payload) -> bytes:
    """The payload as JSON; raises InvalidRequest for text that no store can hold."""
    try:
        return _encode(payload)
    except UnicodeEncodeError as error:
        raise InvalidRequest("payload", type(payload).__name__, f"give text without lone surrogates ({error.reason})") from None


def digest_of(event: Event, payload: bytes) -> bytes:
    """Digest of what the source said: everything but the position, the time of recording, and the subject, which follows from the rest."""
    said = (event.kind, event.version, event.occurred_at, *event[7:])
    return blake2b(_encode(said) + payload, digest_size=DIGEST_BYTES).digest()


def decode_rows(rows: Iterable[Row]) -> Iterator[Event]:
    """Events from rows; raises UnknownEvent at the first that this version does not know."""
    make = tuple.__new__  # what Event._make does, without the call around it
    decoders = _DECODERS
    for row in rows:
        seq, kind, version, occurred_at, recorded_at, subject, text, source, source_id, source_seq, causation, correlation = row
        current, decode = decoders.get(kind, (0, None))
        try:
            payload = decode(text) if decode is not None and version == current else decode_other(kind, version, text)
        except UnknownEvent as error:
            raise UnknownEvent(f"event {seq}: {error}") from None
        except _UNREADABLE as error:
            raise BrokenInvariant(f"event {seq} ({kind}) cannot be read: {error}") from error
        yield make(
            Event,
            (
                seq,
                kind,
                current,
                occurred_at,
                recorded_at,
                subject,
                payload,
                source,
                source_id,
                source_seq,
                causation,
                correlation,
            ),
        )


def decode_other(kind: str, version: int, text: str) -> Payload:
    """A payload of another version than the current one."""
    known = PAYLOADS.get(kind)
    if known is None:
        raise UnknownEvent(f"its kind {kind!r} is not known to this version; upgrade before reading on")
    if not 1 <= version <= known.VERSION:
        raise UnknownEvent(f"{kind} has version {version}, and this version knows 1 to {known.VERSION}; upgrade before reading on")
    return msgspec.convert(upcast(kind, version, known.VERSION, msgspec.json.decode(text)), known)


def audit_rows(rows: Iterable[tuple[Any, ...]]) -> Iterator[Audited]:
    """Events from rows that end in the stored digest; ends after one that cannot be read."""
    for *row, digest in rows:
        stored = Event(*row)
        sound = digest_of(stored, row[6].encode()) == bytes(digest)
        try:
            event = next(decode_rows((tuple(row),)))
        except ClusterError as error:
            yield Audited(stored.seq, None, str(error))
            return
        if not sound:
            yield Audited(event.seq, event, "its content is not what was stored: the digest differs")
        elif event.subject != subject_at(event.payload, event.seq):
            yield Audited(event.seq, event, f"it is filed under {event.subject!r}, but is about {subject_at(event.payload, event.seq)!r}")
        else:
            yield Audited(event.seq, event, "")


class _StoredRecord(msgspec.Struct, kw_only=True):
    """A decision record with its command named, as JSON has no types."""

    verb: str
    command: msgspec.Raw
    at_seq: int
    now: int
    policy_version: int
    engine_version: int
    seed: int
    solver: dict[str, float | str] | None
    more: bool


_decode_record: Callable[[str], _StoredRecord] = msgspec.json.Decoder(_StoredRecord).decode


def encode_record(record: DecisionRecord) -> str:
    """The record as JSON."""
    fields: dict[str, Any] = {name: getattr(record, name) for name in _StoredRecord.__struct_fields__ if name != "verb"}
    return _encode({"verb": type(record.command).__name__, **fields}).decode()


def decode_record(text: str) -> DecisionRecord:
    """The record; raises UnknownEvent for a command that this version does not know."""
    stored = _decode_record(text)
    command = _COMMANDS.get(stored.verb)
    if command is None:
        raise UnknownEvent(f"a decision was made on a {stored.verb!r} command, which this version does not know")
    return DecisionRecord(
        command=msgspec.json.decode(stored.command, type=command),
        at_seq=stored.at_seq,
        now=stored.now,
        policy_version=stored.policy_version,
        engine_version=stored.engine_version,
        seed=stored.seed,
        solver=stored.solver,
        more=stored.more,
    )
