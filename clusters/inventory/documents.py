"""Bytes to documents: encoding, size, JSON or YAML. What the documents mean is not decided here."""

from __future__ import annotations

import codecs
import json
import re
from typing import NoReturn

from clusters.inventory.model import WANTED, BadInventory, fatal
from clusters.inventory.yaml_documents import yaml_documents

MEBIBYTE = 1 << 20
#: Ten thousand nodes as Kubernetes prints them are about 50 MB.
MAX_FILE = 64 * MEBIBYTE
MAX_DIGITS = 18

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_PACKED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}
_BLANK = re.compile(r"\s*")
#: Strings, brackets, colons and commas are all that the search for a repeated key needs to see.
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|\n', re.DOTALL)


class _RepeatedKey(Exception):
    """Carries the key out of the JSON decoder; never leaves this module."""


def read_documents(content: bytes, max_bytes: int = MAX_FILE) -> list[object]:
    """The documents of a JSON or YAML file in order; raises BadInventory."""
    return documents_of(read_text(content, max_bytes))


def read_text(content: bytes, max_bytes: int = MAX_FILE) -> str:
    """The text of a file, which is not empty; raises BadInventory."""
    if len(content) > max_bytes:
        _refuse("", f"the file has more than {max_bytes / MEBIBYTE:g} MiB; give less (kubectl get nodes -o json, without other kinds)")
    text = _decode(content)
    if not text.strip():
        _refuse("", f"the file is empty; {WANTED}")
    return text


def documents_of(text: str) -> list[object]:
    """The documents that a text holds, as JSON or YAML; raises BadInventory."""
    if text.lstrip()[0] not in "{[":
        return yaml_documents(text)
    try:
        return _json_documents(text)
    except json.JSONDecodeError as error:
        return _flow_documents(text, error)


def _decode(content: bytes) -> str:
    for magic, name in _PACKED.items():
        if content.startswith(magic):
            _refuse("", f"the file is packed with {name}; unpack it first")
    bom, encoding = next(((bom, name) for bom, name in _BOMS if content.startswith(bom)), (b"", "utf-8"))
    try:
        text = content[len(bom) :].decode(encoding)
    except UnicodeDecodeError as error:
        _refuse(f"byte {error.start + len(bom)}", f"the file is binary, or text that is not {encoding.upper()}; {WANTED}")
    if "\0" in text:
        _refuse(f"character {text.index(chr(0))}", f"the file is binary; {WANTED}")
    return text


def _json_documents(text: str) -> list[object]:
    """One JSON document after the other, as `jq .items[]` writes them too."""
    decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=str, parse_int=_whole)
    documents: list[object] = []
    at = _skip_blank(text, 0)
    while at < len(text):
        try:
            document, at = decoder.raw_decode(text, at)
        except _RepeatedKey as repeated:
            _refuse(_repeated_at(text, str(repeated)), f"the key {str(repeated)!r} is given twice in one object; give it once")
        except RecursionError:
            _refuse(f"document {len(documents) + 1}", "values are nested too deep; an inventory needs fewer than 10 levels")
        documents.append(document)
        at = _skip_blank(text, at)
    return documents


def _flow_documents(text: str, error: json.JSONDecodeError) -> list[object]:
    """YAML may begin with a bracket too; if it is not that either, the file was meant as JSON."""
    try:
        return yaml_documents(text)
    except BadInventory:
        position = f"line {error.lineno}, column {error.colno}"
        _refuse(position, f"this is not valid JSON: {error.msg}; is the file complete?")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _RepeatedKey(next(key for number, key in enumerate(keys) if key in keys[:number]))
    return found


def _whole(text: str) -> int | str:
    """Numbers too long to be one stay text, which the readers refuse by name."""
    return int(text) if len(text) <= MAX_DIGITS else text


def _no_constant(text: str) -> NoReturn:
    _refuse("", f"the number {text} is not JSON; give whole numbers")


def _skip_blank(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _repeated_at(text: str, key: str) -> str:
    """Where an object has this key for the second time; only asked when one has."""
    seen: list[set[str]] = []
    line, pending = 1, ""
    for token in _JSON_TOKEN.finditer(text):
        mark = token[0][0]
        if mark == "\n":
            line += 1
        elif mark in "{[":
            seen.append(set())
        elif mark in "}]":
            seen.pop()
        elif mark == '"':
            pending = token[0]
        elif mark == ":":
            name = json.loads(pending, strict=False)
            if name == key and name in seen[-1]:
                return f"line {line}"
            seen[-1].add(name)
    return ""


def _refuse(position: str, message: str) -> NoReturn:
    raise BadInventory([fatal(position, "", message)])
