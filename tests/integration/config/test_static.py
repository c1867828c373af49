from __future__ import annotations

import pytest
from django.contrib.staticfiles import finders
from django.test import AsyncClient, Client

FILE = "rest_framework/css/default.css"


@pytest.fixture
def content() -> bytes:
    found = finders.find(FILE)
    assert found is not None
    with open(found, "rb") as file:
        return file.read()


@pytest.mark.asyncio
async def test_a_file_is_served_whole_and_without_a_warning_under_asgi(content: bytes, async_client: AsyncClient) -> None:
    response = await async_client.get(f"/static/{FILE}")
    assert (response.status_code, response.content) == (200, content)
    assert response["Content-Type"].startswith("text/css")
    assert not response.streaming


def test_a_range_a_head_and_an_unchanged_file_are_answered_as_asked(content: bytes, client: Client) -> None:
    part = client.get(f"/static/{FILE}", headers={"range": "bytes=2-5"})
    assert (part.status_code, part.content) == (206, content[2:6])
    head = client.head(f"/static/{FILE}")
    assert (head.status_code, head["Content-Length"], head.content) == (200, str(len(content)), b"")
    unchanged = client.get(f"/static/{FILE}", headers={"if-none-match": head["ETag"]})
    assert (unchanged.status_code, unchanged.content) == (304, b"")


def test_static_files_cannot_be_written_to(client: Client) -> None:
    assert client.post(f"/static/{FILE}").status_code == 405


def test_nothing_outside_the_static_folders_is_served(client: Client) -> None:
    assert client.get("/static/../config/settings.py").status_code in {302, 404}
