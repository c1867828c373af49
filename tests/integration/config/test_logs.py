from __future__ import annotations

import logging

from config.logs import LineFormatter


def record(message: str, *args: object) -> logging.LogRecord:
    return logging.LogRecord("jobs", logging.INFO, __file__, 1, message, args, None)


def test_a_record_is_one_line_with_time_level_and_logger() -> None:
    line = LineFormatter().format(record("placed %s", "j000001"))
    time, rest = line.split(" ", 1)
    assert rest == "INFO jobs placed j000001"
    assert time.endswith("Z")


def test_a_name_from_outside_cannot_forge_a_record_or_colour_the_terminal() -> None:
    line = LineFormatter().format(record("name %s", "x\n2026-01-01 ERROR forged \x1b[31m\u2028"))
    assert line.endswith(r"name x\n2026-01-01 ERROR forged \x1b[31m\u2028")


def test_a_traceback_stays_inside_its_record() -> None:
    entry = record("failed")
    error = ValueError("first\nforged")
    entry.exc_info = (type(error), error, None)
    head, *trace = LineFormatter().format(entry).split("\n")
    assert head.endswith("failed")
    assert trace
    assert all(line.startswith("  ") for line in trace)
