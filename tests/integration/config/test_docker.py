"""The image and the composition, as far as they can be looked at without building them: every part, no secret, nothing unpinned."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from config import env, parts
from config.celery import QUEUES
from tests.support.shared import ROOT

DOCKER = ROOT / "docker"
PINNED = re.compile(r"(postgres:\d+\.\d+|redis:\d+\.\d+\.\d+|slicekeeper:)\S*")
SECRETS = ("POSTGRES_PASSWORD", env.SECRET_KEY, env.METRICS_TOKEN)


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yml").read_text())
    return found


@pytest.fixture(scope="module")
def services(compose: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = compose["services"]
    return found


def test_it_has_the_parts_that_run_without_containers_and_the_databases(services: dict[str, Any]) -> None:
    assert set(services) == {part.name for part in parts.parts([1, 2])} | {"migrate", "postgres", "redis"}


def test_every_queue_has_a_worker(services: dict[str, Any]) -> None:
    assert {service["command"][1] for service in services.values() if service.get("command", [""])[0] == "worker"} == set(QUEUES)


def test_images_are_ours_or_a_database_and_pinned(services: dict[str, Any]) -> None:
    assert all(PINNED.fullmatch(service["image"]) for service in services.values())
    assert not any("latest" in service["image"] for service in services.values())


def test_the_webs_listen_on_this_machine_only_at_ports_of_their_own(services: dict[str, Any]) -> None:
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert set(published) == {"web-1", "web-2"}
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)
    assert published["web-1"] != published["web-2"]


def test_secrets_come_from_outside_and_the_example_has_none(services: dict[str, Any]) -> None:
    for service in services.values():
        for name, value in service.get("environment", {}).items():
            if name in SECRETS or "PASSWORD" in value:
                assert "${" in value, name
    example = dict(line.split("=", 1) for line in (DOCKER / "example.env").read_text().splitlines() if line and line[0] != "#")
    assert {name: example[name] for name in SECRETS} == dict.fromkeys(SECRETS, "")


def test_every_variable_is_in_the_example_and_known_to_the_product(services: dict[str, Any]) -> None:
    text = (DOCKER / "compose.yml").read_text()
    used = set(re.findall(r"\$\{(\w+)", text)) - {"SLICEKEEPER_VERSION"}
    example = set(re.findall(r"^(\w+)=", (DOCKER / "example.env").read_text(), re.MULTILINE))
    assert used == example
    given = {name for service in services.values() for name in service.get("environment", {}) if name.startswith("SLICEKEEPER_")}
    assert given <= set(env.KNOWN)


def test_everything_that_goes_on_is_watched_and_ours_may_do_little(services: dict[str, Any]) -> None:
    for name, service in services.items():
        if name != "migrate":
            assert service["healthcheck"]["test"][0] == "CMD", name
        if service["image"].startswith("slicekeeper:"):
            assert service["read_only"], name
            assert service["cap_drop"] == ["ALL"], name
            assert service["depends_on"]["postgres"] == {"condition": "service_healthy"}, name


def test_only_the_data_of_the_database_is_kept(compose: dict[str, Any], services: dict[str, Any]) -> None:
    assert set(compose["volumes"]) == {"postgres"}
    assert [name for name, service in services.items() if "volumes" in service] == ["postgres"]


def test_the_image_checks_hashes_runs_as_nobody_special_and_holds_no_secret() -> None:
    lines = (DOCKER / "Dockerfile").read_text()
    stages = re.split(r"^FROM ", lines, flags=re.MULTILINE)[1:]
    assert len(stages) == 2
    assert "--require-hashes" in stages[0]
    assert "collectstatic" in stages[0]
    assert re.search(r"^USER 10001", stages[1], re.MULTILINE)
    assert re.search(r"^ARG PYTHON_IMAGE=python:3\.11-slim", lines, re.MULTILINE)
    kept = [line for line in lines.splitlines() if line.startswith(("ENV", "ARG"))]
    assert not any(secret in line for line in kept for secret in SECRETS)


def test_what_the_image_copies_is_what_the_context_holds() -> None:
    copied = re.findall(r"^COPY (?!--from)(?:--\S+ )?(\S+) ", (DOCKER / "Dockerfile").read_text(), re.MULTILINE)
    allowed = [line[1:] for line in (DOCKER / "Dockerfile.dockerignore").read_text().splitlines() if line.startswith("!")]
    assert sorted(copied) == sorted(allowed)
    assert all((ROOT / path).exists() for path in copied)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "-m uvicorn config.asgi:application --host 0.0.0.0 --port 8000"),
        (["worker", "slow"], "-m celery --quiet -A config.celery worker -Q slow"),
        (["beat"], "-m celery --quiet -A config.celery beat --pidfile="),
        (["fleets"], "manage.py run_fleets"),
        (["migrate"], "manage.py migrate --no-input"),
        (["manage", "login_link", "--user", "a b"], "manage.py login_link --user a b"),
    ],
)
def test_the_entrypoint_starts_each_part(arguments: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "python").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "python").chmod(0o755)
    ran = subprocess.run(
        ["/bin/sh", DOCKER / "entrypoint.sh", *arguments],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.startswith(said)


def test_the_entrypoint_names_what_it_does_not_know() -> None:
    ran = subprocess.run(["/bin/sh", DOCKER / "entrypoint.sh", "wbe"], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "'wbe' is no part" in ran.stderr
