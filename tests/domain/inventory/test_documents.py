"""Bytes become documents, or one clear refusal with a position."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from clusters.inventory.documents import read_documents
from clusters.inventory.model import BadInventory
from clusters.inventory.yaml_documents import yaml_documents

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.from_regex(r"[a-z/.]{1,6}", fullmatch=True), inner, max_size=4),
    max_leaves=12,
)


def refusal(content: bytes) -> str:
    with pytest.raises(BadInventory) as caught:
        read_documents(content)
    (problem,) = caught.value.problems
    assert problem.fatal
    return str(problem)


@given(st.dictionaries(st.from_regex(r"[a-z]{1,6}", fullmatch=True), JSON_VALUES, min_size=1, max_size=5))
@settings(max_examples=50)
def test_a_value_reads_the_same_from_json_and_yaml(value: dict[str, object]) -> None:
    assert read_documents(json.dumps(value).encode()) == [value]
    assert read_documents(yaml.safe_dump(value, allow_unicode=True).encode()) == [value]


def test_several_documents_come_in_order_in_either_format() -> None:
    assert read_documents(b'{"a": 1}\n{"a": 2}') == [{"a": 1}, {"a": 2}]
    assert read_documents(b"---\na: 1\n---\n---\na: 2\n") == [{"a": 1}, None, {"a": 2}]
    assert read_documents(b'{"a": 1}\n---\n{"a": 2}') == [{"a": 1}, {"a": 2}]


def test_windows_shells_write_utf_16_and_that_is_read() -> None:
    assert read_documents('{"a": "é"}'.encode("utf-16")) == [{"a": "é"}]
    assert read_documents(b"\xef\xbb\xbfa: 1") == [{"a": 1}]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0123", "0123"),
        ("12", 12),
        ("-3", -3),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("no", "no"),
        ("1e5", "1e5"),
        ("true", True),
        ("~", None),
        ("'12'", "12"),
        ("2026-01-01", "2026-01-01"),
        ("!!str 12", "12"),
        ("9" * 30, "9" * 30),
    ],
)
def test_plain_scalars_are_what_they_look_like(text: str, value: object) -> None:
    assert read_documents(f"key: {text}".encode()) == [{"key": value}]


def test_aliases_are_read_as_what_they_stand_for() -> None:
    assert read_documents(b"a: &x [1]\nb: *x") == [{"a": [1], "b": [1]}]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "the file is empty"),
        (b" \n\t\n", "the file is empty"),
        (b"\x1f\x8b\x08\x00", "packed with gzip; unpack it first"),
        (b"PK\x03\x04....", "packed with zip"),
        (b"\x89PNG\r\n\x1a\n\xff\x00", "byte 0: the file is binary"),
        (b"a: \x00b", "character 3: the file is binary"),
        (b'{"a": 1, "a": 2}', "line 1: the key 'a' is given twice in one object"),
        (b'{"items": [\n{"a": 1,\n "a": {}}]}', "line 3: the key 'a' is given twice"),
        (b'{"\\u0061": 1,\n"a": 2}', "line 2: the key 'a' is given twice"),
        (b"a: 1\nb: 2\na: 3\n", "line 3, column 1: the key 'a' is given twice in one mapping"),
        (b"a: [1\nb: 2", "line 2"),
        (b'{"items": [{"kind": "Node"', "this is not valid JSON"),
        (b'{"a": NaN}', "the number NaN is not JSON"),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deep"),
        (b"a: " + b"[" * 100 + b"]" * 100, "nested more than 64 deep"),
        (b"? [a]\n: 1", "a key is a list, mapping or alias"),
        (b"a: !!python/object/apply:os.system [x]", "the tag tag:yaml.org,2002:python/object/apply:os.system is not read"),
        (b"a: !secret x", "the tag !secret is not read"),
        (b"a: *b", "the alias *b has no complete &b before it"),
        (b"a: &a [*a]", "the alias *a has no complete &a before it"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(content: bytes, told: str) -> None:
    assert told in refusal(content)


def test_an_alias_bomb_is_refused_before_anything_walks_it() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "values with aliases written out" in refusal("\n".join(lines).encode())


def test_a_file_above_the_limit_is_refused_unread() -> None:
    with pytest.raises(BadInventory, match="the file has more than 1 MiB; give less"):
        read_documents(b"#" * (2 << 20), max_bytes=1 << 20)


def outcome(read: Callable[[], list[object]]) -> list[str] | None:
    """The messages of a refusal, or None where there were documents."""
    try:
        read()
    except BadInventory as error:
        return [problem.message for problem in error.problems]
    return None


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_any_bytes_are_documents_or_a_refusal(content: bytes) -> None:
    assert outcome(lambda: read_documents(content)) != []


@given(st.text(alphabet="{}[]:,-?&*!|>'\"#%@` \n\tab01~", max_size=60))
def test_any_punctuation_is_documents_or_a_refusal(text: str) -> None:
    assert outcome(lambda: yaml_documents(text)) != []
