"""Calling the API as a program does."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.test import Client

from frontend.api.errors import MEDIA_TYPE, TITLES

BASE = "/api/v1/"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, its body read as JSON."""

    status: int
    body: Any
    headers: dict[str, str]


class Api:
    """One client; paths are below /api/v1/."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def get(self, path: str, **headers: str) -> Answer:
        return read(self.client.get(BASE + path, headers=headers))

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        return read(self.client.post(BASE + path, json.dumps(body or {}), content_type="application/json", headers=headers))

    def put(self, path: str, body: Any = None, **headers: str) -> Answer:
        return read(self.client.put(BASE + path, json.dumps(body or {}), content_type="application/json", headers=headers))

    def send(self, path: str, raw: bytes, content_type: str = "application/json") -> Answer:
        return read(self.client.post(BASE + path, raw, content_type=content_type))


def read(response: Any) -> Answer:
    content = response.content
    content_type = response.headers.get("Content-Type", "")
    body = json.loads(content) if "json" in content_type and content else content
    if content_type == MEDIA_TYPE:
        assert body["code"] in TITLES, f"{body['code']} is no code of the list"
    return Answer(response.status_code, body, dict(response.headers))


def job(**fields: Any) -> dict[str, Any]:
    """A body that submits a job."""
    return {"name": "train", "kind": "training", "nodes": 32, **fields}
