"""The capacity page and the spares panel: everything that a chart shows stands there as text, too."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from django.test import Client

from clusters.domain.commands import NodeVerb
from clusters.domain.health_events import NodeFailed, RepairFinished
from clusters.domain.ids import DAY, HOUR
from clusters.domain.jobs import JobKind, JobRequest
from clusters.eventlog.log import wall_now
from clusters.eventlog.store import create_cluster
from frontend.pages.capacity import PLOTLY
from frontend.selectors.clusters import reading
from scheduling.services import job_submit, node_mark, run_pass
from scheduling.spares import spares_review
from tests.support.lab import project_all, report, start

pytestmark = pytest.mark.django_db

PATH = "/clusters/lab/capacity/"


def text_of(page: str) -> str:
    """What a reader sees, without markup and scripts."""
    page = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script id="capacity-data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def table_after(page: str, title: str) -> list[list[str]]:
    """The rows of the first table after a text."""
    table = re.search(r"<tbody>(.*?)</tbody>", page[page.index(title) :], re.DOTALL)
    assert table
    return [re.findall(r"<t[hd][^>]*>\s*(.*?)\s*</t[hd]>", row, re.DOTALL) for row in re.findall(r"<tr>(.*?)</tr>", table[1], re.DOTALL)]


def get(client: Client, path: str = PATH) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def run_job(nodes: int = 32) -> str:
    job = job_submit(cluster="lab", request=JobRequest(name="train", kind=JobKind.TRAINING, nodes=nodes), by="ada")
    assert isinstance(job, str)
    run_pass("lab")
    start(job)
    return job


def test_a_cluster_without_nodes_says_how_to_get_some(user: Client) -> None:
    create_cluster("lab", by="test")
    page = get(user)
    assert "No capacity yet" in page
    assert "import_cluster FILE --name lab" in page
    assert "plotly" not in page


def test_the_table_has_each_size_now_and_expected(user: Client, cluster: str) -> None:
    for node in ("r1-n01", "r1-n02", "r1-n03", "r2-n01"):
        assert node_mark(cluster=cluster, node=node, verb=NodeVerb.FAIL, by="op") is None
    page = get(user)
    now = {size: int(nodes.replace(",", "")) for size, nodes in re.findall(r'data-usable-now="([0-9+]+)">([0-9,]+)<', page)}
    assert now == {"8": 56, "9": 54, "16": 48, "18": 36}
    assert "( 4 of 72 nodes)" in text_of(page) or "(4 of 72 nodes)" in text_of(page)
    data = data_of(page)
    assert data["now"]["levels"] == [[18, 15, 1], [18, 17, 1], [18, 18, 2]]
    for size, nodes in now.items():
        table = data["tables"][size]["18"]
        assert sum(table[available] * domains for _, available, domains in data["now"]["levels"]) == nodes
    assert len(data["curves"]["unavailability"]) == len(data["curves"]["correlated"]["16"]) == len(data["curves"]["independent"]["18"])
    assert data["curves"]["independent"]["18"][0] == 72


def test_other_sizes_come_from_the_address_and_wrong_ones_are_named(user: Client, cluster: str) -> None:
    assert data_of(get(user, f"{PATH}?sizes=4,18%2B16"))["sizes"] == ["4", "18+16"]
    page = get(user, f"{PATH}?sizes=%3Cb%3E")
    assert "&lt;b&gt; is not valid: give 1 to 8 slice sizes" in page
    assert data_of(page)["sizes"] == ["8", "9", "16", "18"]


def test_the_strip_is_a_table_without_any_script(user: Client, cluster: str) -> None:
    rows = {row[0]: row[1:] for row in table_after(get(user), "What each failure costs in a domain of 18")}
    assert rows["16"] == ["16", "16", "16", *["0"] * 16]
    assert rows["9"] == ["18", *["9"] * 9, *["0"] * 9]
    assert rows["8"] == ["16", "16", "16", *["8"] * 8, *["0"] * 8]
    assert rows["18"] == ["18", *["0"] * 18]


def test_interruptions_stand_beside_what_was_seen_or_why_nothing_was(user: Client, cluster: str) -> None:
    page = get(user)
    rows = table_after(page, "Interruptions</h2>")
    assert [row[1] for row in rows] == ["490 days", "27.2 days", "163.3 h"]
    assert "nothing was observed yet" in text_of(page)
    for day in range(40):
        report(NodeFailed(node=f"r{day % 4 + 1}-n{day % 9 + 1:02d}", reason="dead"), at=(day + 1) * DAY)
        report(RepairFinished(node=f"r{day % 4 + 1}-n{day % 9 + 1:02d}"), at=(day + 1) * DAY + HOUR)
    project_all()
    assert "40 failures in" in text_of(get(user))


def test_the_caveat_of_the_headline_is_there(user: Client, cluster: str) -> None:
    text = text_of(get(user))
    assert "27 % more nodes than 18-node ones at 2 % unavailability with independent failures" in text


def test_advice_is_for_the_jobs_that_ran(user: Client, cluster: str) -> None:
    assert "No advice yet" in get(user)
    run_job()
    text = text_of(get(user))
    assert "Slices of 16 suit the jobs that ran best, and the policy has that size. Chosen of slices of 8 to 18 nodes" in text
    assert "No job of the mix makes a slice of 18 nodes: theirs have 16" in text


def test_the_price_is_the_readers(user: Client, cluster: str) -> None:
    text = text_of(get(user, f"{PATH}?price=2&gain=25"))
    assert "Same work, less time 2,765 a day (20.0 % of the hours)" in text  # 288 GPUs x 24 h x 2 x 0.2
    assert "Same time, more work 3,456 a day" in text
    for wrong in ("price=-1", "price=nan", "price=inf", "price=x", "gain=0"):
        assert "12.6 % of the hours" in text_of(get(user, f"{PATH}?{wrong}"))


def test_the_books_over_time_are_a_table_that_sums(user: Client, cluster: str) -> None:
    assert "Nothing sampled yet" in get(user)
    run_job()
    for hours in (1, 2, 14):
        report(NodeFailed(node=f"r3-n{hours:02d}", reason="dead"), at=wall_now() + hours * HOUR)
    project_all()
    for span in ("day", "week", "year", "nonsense"):
        page = get(user, f"{PATH}?span={span}")
        samples = data_of(page)["history"]["samples"]
        assert len(samples) >= (2 if span == "year" else 6)
        assert all(sum(sample[part].values()) == 72 for sample in samples for part in ("use", "condition"))
    page = get(user)
    rows = table_after(page, "Nodes over time")
    assert len(rows) >= 6
    for row in rows:
        *counts, nodes = (int(re.sub(r"<.*?>|,", "", cell)) for cell in row[1:])
        assert sum(counts) == nodes == 72


def test_only_this_page_allows_what_the_chart_needs(user: Client, cluster: str) -> None:
    own = user.get(PATH).headers["Content-Security-Policy"]
    others = user.get("/clusters/lab/").headers["Content-Security-Policy"]
    for sources in PLOTLY.values():
        for source in sources:
            assert source in own
            assert source not in others
    assert "unsafe" not in own
    assert "http" not in own


def test_the_fleet_shows_spares_against_target_and_what_would_restore_them(user: Client, cluster: str) -> None:
    assert "No domain owes spares" in get(user, "/clusters/lab/")
    job = run_job()
    assert "4 of 4 owed Every domain that owes spares has them." in text_of(get(user, "/clusters/lab/parts/spares/"))
    assert node_mark(cluster=cluster, node="r1-n01", verb=NodeVerb.FAIL, by="op") is None
    run_pass(cluster)
    text = text_of(get(user, "/clusters/lab/parts/spares/"))
    assert "3 of 4 owed 1 missing in 1 domain" in text
    assert "Not looked into yet" in text
    spares_review(cluster)
    text = text_of(get(user, "/clusters/lab/parts/spares/"))
    assert (
        f"Moving slice 0, 16 nodes of {job} to r3 would restore it: 128.0 GPU-hours again" in text
    )  # its work started long ago, so an hour of 128 GPUs
    assert "nobody makes them" in text
    assert "None is lent." in text
    assert node_mark(cluster=cluster, node="r1-n01", verb=NodeVerb.REPAIR, by="op") is None
    assert "4 of 4 owed" in text_of(get(user, "/clusters/lab/parts/spares/"))


def test_what_failures_have_cost_is_told_by_team_and_cause(user: Client, cluster: str) -> None:
    assert "Nothing lost yet" in text_of(get(user))
    run_job()
    with reading(cluster) as state:
        node = next(name for name, node in state.nodes.items() if node.job)
        job = state.nodes[node].job
    node_mark(cluster=cluster, node=node, verb=NodeVerb.FAIL, by="op")
    run_pass(cluster)
    start(job)
    run_pass(cluster)
    ((team, cause, rollback, stall),) = table_after(get(user), "Lost work")
    assert (team, cause) == ("none", "a node failed")
    assert rollback.endswith(("GPU-hours", "GPU-seconds"))
    assert stall.endswith(("GPU-hours", "GPU-seconds"))
