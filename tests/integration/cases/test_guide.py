"""The guide on placement says what `manage.py place` does: its example is run, its table of codes is the engine's."""

from __future__ import annotations

import json
import re
from pathlib import Path

from scheduling.cases.answering import NOT_MOVABLE, Questions
from scheduling.domain.trees import TreeCode

GUIDE = (Path(__file__).resolve().parents[3] / "docs" / "guides" / "placement.md").read_text(encoding="utf-8")


def test_the_example_is_answered_as_shown() -> None:
    questions, answers = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL))
    assert dict(Questions(questions).answers()) == answers


def test_every_code_of_a_refusal_is_explained() -> None:
    rows = re.findall(r"^\| (`[a-z_]+`(?:, `[a-z_]+`)*) \|", GUIDE.partition("| code | meaning |")[2], re.MULTILINE)
    explained = {code for row in rows for code in re.findall(r"`([a-z_]+)`", row)}
    assert explained == {code.replace("-", "_") for code in TreeCode} | {"insufficient_multi_layer", NOT_MOVABLE}
