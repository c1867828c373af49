"""Switch trays by API and on the page of their rack."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.api.calls import Api
from tests.support.lab import NAME

pytestmark = pytest.mark.django_db

RACK = f"clusters/{NAME}/racks/r1/"


def test_a_lost_chip_and_a_lost_tray_are_told_with_what_is_left(admin: Api, cluster: str) -> None:
    whole = admin.get(RACK).body["rack"]["nvlink"]
    assert whole == {"chips": 18, "working": 18, "full_tbs": 129.6, "left_tbs": 129.6, "lost": []}
    chip = admin.post(f"{RACK}switches/4/fail/", {"chip": 2, "reason": "dark"}).body
    assert chip["nvlink"]["left_tbs"] == 122.4
    assert chip["nvlink"]["lost"] == [{"tray": 4, "chip": 2, "reason": "dark"}]
    assert chip["condition"] == {"degraded": 18}
    tray = admin.post(f"{RACK}switches/5/fail/").body["nvlink"]
    assert (tray["working"], tray["left_tbs"]) == (15, 108.0)
    assert admin.get(f"clusters/{NAME}/racks/r2/").body["rack"]["condition"] == {"healthy": 18}
    for number in (4, 5):
        assert admin.post(f"{RACK}switches/{number}/repair/").status == 200
    assert admin.get(RACK).body["rack"]["nvlink"] == whole


def test_what_says_nothing_new_or_is_not_there_is_refused(admin: Api, cluster: str) -> None:
    assert admin.post(f"{RACK}switches/4/repair/").body["code"] == "state"
    assert admin.post(f"{RACK}switches/10/fail/").status == 404
    assert admin.post(f"clusters/{NAME}/racks/r9/switches/1/fail/").status == 404
    assert admin.post(f"{RACK}switches/4/fail/", {"chip": 3}).body["errors"][0]["field"] == "chip"
    rehearsed = admin.post(f"{RACK}switches/4/fail/?dry_run=true").body
    assert rehearsed["events"][0]["kind"] == "SwitchTrayFailed"
    assert admin.get(RACK).body["rack"]["nvlink"]["lost"] == []


def test_the_page_shows_what_is_lost(admin: Api, cluster: str) -> None:
    page = f"/clusters/{NAME}/racks/r1/"
    browser: Client = admin.client
    assert "TB/s" not in browser.get(page).content.decode()
    admin.post(f"{RACK}switches/4/fail/", {"chip": 2, "reason": "dark <b>"})
    shown = browser.get(page).content.decode()
    assert "122.4 of 129.6 TB/s" in shown
    assert "tray 4 chip 2 (dark &lt;b&gt;)" in shown
    assert "Switch tray 4, failed" in shown
