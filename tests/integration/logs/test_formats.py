"""Lines of the log: one for each record, forged by nobody, without secrets, and each says what it belongs to."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.eventlog.correlation import correlated, correlation, is_sound
from config.logs import Context, JsonFormatter, LineFormatter, Refusals, censor, logging_config

LOGGER = logging.getLogger("test.formats")


def record(message: str, *args: object, **extra: Any) -> logging.LogRecord:
    made = LOGGER.makeRecord("jobs", logging.INFO, __file__, 1, message, args, None, extra=extra)
    Context().filter(made)
    return made


def as_json(entry: logging.LogRecord) -> dict[str, Any]:
    line = JsonFormatter().format(entry)
    assert "\n" not in line
    found: dict[str, Any] = json.loads(line)
    return found


def test_json_has_what_a_collector_needs() -> None:
    with correlated("req-1"):
        found = as_json(record("placed %s", "j000001", status=201, user="ada", request=object()))
    assert found.pop("time").endswith("Z")
    assert found.pop("process") > 0
    assert found == {"level": "INFO", "logger": "jobs", "message": "placed j000001", "correlation": "req-1", "status": 201, "user": "ada"}


def test_extra_values_do_not_take_the_place_of_the_record() -> None:
    found = as_json(record("true", level="forged", logger="forged"))
    assert (found["level"], found["logger"]) == ("INFO", "jobs")


@given(st.text(), st.text())
def test_whatever_is_logged_is_one_line_of_json(message: str, value: str) -> None:
    found = as_json(record("%s", message, value=value))
    assert "\n" not in JsonFormatter().format(record("%s", message))
    assert found["value"] == censor(value)


def test_a_traceback_is_in_the_record_and_loses_its_secrets() -> None:
    entry = record("failed")
    error = ValueError("cannot reach redis://user:hunter2@redis:6379/0\n2026-01-01 forged")
    entry.exc_info = (type(error), error, None)
    found = as_json(entry)
    assert "redis://user:***@redis:6379/0" in found["exception"]
    assert "hunter2" not in JsonFormatter().format(entry) + LineFormatter().format(entry)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgres://me:p%40ss@db/x", "postgres://me:***@db/x"),
        ("redis://:secret@h:6379/0 and amqp://a:b@c", "redis://:***@h:6379/0 and amqp://a:***@c"),
        ("GET /login/?token=abc-DEF_1&next=/", "GET /login/?token=***&next=/"),
        ("http://localhost:8001/login/ at 12:30 by ada@example.org", "http://localhost:8001/login/ at 12:30 by ada@example.org"),
    ],
)
def test_what_signs_somebody_in_is_struck_out(text: str, shown: str) -> None:
    assert censor(text) == shown
    assert as_json(record("%s", text))["message"] == shown
    assert shown in LineFormatter().format(record("%s", text))


def test_a_line_of_text_names_the_request_at_its_end() -> None:
    with correlated("req-7"):
        assert LineFormatter().format(record("hello")).endswith("jobs hello [req-7]")
    assert LineFormatter().format(record("hello")).endswith("jobs hello")


@pytest.mark.parametrize(
    ("name", "sound"),
    [
        ("4bf92f3577b34da6a3ce929d0e0e4736", True),
        ("00-4bf9-00f0-01", True),
        ("user@host:1/2+3=4.5_6", True),
        ("a" * 64, True),
        ("a" * 65, False),
        ("", False),
        ("-x", False),
        ("a b", False),
        ("a\nb", False),
        ("a\n", False),
        ("<script>", False),
        ("é", False),
    ],
)
def test_only_sound_ids_are_taken_from_outside(name: str, sound: bool) -> None:
    assert is_sound(name) is sound


def test_what_is_inside_belongs_to_the_inner_id_and_the_outer_comes_back() -> None:
    with correlated("outer"):
        with correlated("inner"):
            assert correlation() == "inner"
        assert correlation() == "outer"
    assert correlation() == ""


@pytest.mark.parametrize("form", ["text", "json"])
def test_servers_and_frameworks_write_by_the_same_handler(form: str) -> None:
    config = logging_config(form)
    assert config["handlers"]["stderr"]["formatter"] == form
    assert not any(logger.get("handlers") for logger in config["loggers"].values())


def test_a_refused_request_is_a_line_and_a_failed_one_has_its_traceback() -> None:
    told = LOGGER.makeRecord("django.request", logging.WARNING, __file__, 1, "Forbidden", (), None, extra={"status_code": 403})
    failed = LOGGER.makeRecord("django.request", logging.ERROR, __file__, 1, "Failed", (), None, extra={"status_code": 500})
    told.exc_info = failed.exc_info = (PermissionError, PermissionError("no"), None)
    loggers = logging_config()["loggers"]
    assert loggers["django.request"]["filters"] == ["refusals"]
    for entry in (told, failed):
        assert Refusals().filter(entry)
    assert "PermissionError" not in LineFormatter().format(told)
    assert "PermissionError" in LineFormatter().format(failed)
