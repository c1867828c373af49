"""Ranges of names are written the way Slurm's users write them, and fold back exactly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.domain.errors import InvalidRequest
from clusters.inventory.names import MAX_NODES, expand, fold, is_name, is_subdomain, plain


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n01", ["n01"]),
        ("n[01-03]", ["n01", "n02", "n03"]),
        ("n[1,3,9-11]", ["n1", "n3", "n9", "n10", "n11"]),
        ("n[08-10]", ["n08", "n09", "n10"]),
        ("r[1-2]-ct[01-02]", ["r1-ct01", "r1-ct02", "r2-ct01", "r2-ct02"]),
        ("[1-2].gpu", ["1.gpu", "2.gpu"]),
    ],
)
def test_a_range_stands_for_its_names(text: str, names: list[str]) -> None:
    assert expand(text) == names


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "give a name or a range"),
        ("n[01-18", "brackets come in pairs"),
        ("n01]", "brackets come in pairs"),
        ("n[]", "inside brackets"),
        ("n[a-c]", "inside brackets"),
        ("n[18-01]", "runs backwards; give 01-18"),
        ("n[0-999999999]", f"at most {MAX_NODES:,}"),
        ("a[0-999]b[0-999]", f"at most {MAX_NODES:,}"),
        ("n 1", "give letters, digits"),
        ("-n[1-2]", "give letters, digits"),
        ("ñ[1-2]", "give letters, digits"),
    ],
)
def test_a_wrong_range_says_what_is_right(text: str, hint: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        expand(text)
    assert hint in str(caught.value)


def test_names_fold_into_the_ranges_a_person_would_write() -> None:
    names = ["login", *(f"n{number:02d}" for number in range(1, 19) if number != 7), "n100", "n9"]
    assert fold(names) == ["login", "n9", "n100", "n[01-06,08-18]"]


@given(st.sets(st.from_regex(r"[a-z]([a-z0-9.-]{0,12}[a-z0-9])?", fullmatch=True), max_size=30))
def test_folded_names_expand_to_the_same_names(names: set[str]) -> None:
    expanded = [name for part in fold(names) for name in expand(part)]
    assert sorted(expanded) == sorted(names)


@given(st.sets(st.tuples(st.sampled_from(("n", "r1-n", "7-")), st.integers(0, 120), st.integers(1, 4)), max_size=60))
def test_numbers_keep_their_zeros(parts: set[tuple[str, int, int]]) -> None:
    names = {f"{prefix}{number:0{width}d}" for prefix, number, width in parts}
    assert sorted(name for part in fold(names) for name in expand(part)) == sorted(names)


@pytest.mark.parametrize(
    ("name", "native", "kubernetes"),
    [
        ("gb200-rack1-n01", True, True),
        ("ip-10-0-1-1.ec2.internal", True, True),
        ("N01", True, False),
        ("n_1", True, False),
        ("n..1", True, False),
        ("n-", False, False),
        ("n 1", False, False),
        ("nœud", False, False),
        ("", False, False),
        ("n" * 253, True, True),
        ("n" * 254, False, False),
        ("n\n", False, False),
    ],
)
def test_names_are_held_to_what_their_format_permits(name: str, native: bool, kubernetes: bool) -> None:
    assert (is_name(name), is_subdomain(name)) == (native, kubernetes)


@given(st.text(max_size=400))
def test_plain_text_is_one_bounded_line_that_any_store_takes(text: str) -> None:
    line = plain(text)
    assert len(line) <= 300
    assert "\x00" not in line
    assert len(line.splitlines()) <= 1
    assert line.encode().decode() == line
    assert plain(line) == line
