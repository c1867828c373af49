"""Records the log of a cluster; see the package."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Iterable
from typing import Any

import django

from tests.contract.eventlog.histories import DIRECTORY, ENDING


def main(cluster: str, name: str) -> None:
    """Write the rows as they are stored."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.db import connection

    from clusters.eventlog import sql

    def rows(statement: str, *parameters: Any) -> list[Any]:
        with connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            found: list[Any] = cursor.fetchall()
        return found

    ((cluster_id, _, head),) = rows(sql.POSITION, cluster)
    events = rows(sql.READ_WITH_DIGEST, cluster_id, 0, head, head)
    told: Iterable[Any] = (
        *({"event": [*row[:-1], bytes(row[-1]).hex()]} for row in events),
        *({"decision": list(row)} for row in rows(sql.DECISIONS, cluster_id, 0, head, head)),
        *({"claim": list(row)} for row in rows(sql.CLAIMS, cluster_id)),
    )
    with (DIRECTORY / f"{name}{ENDING}").open("xb") as file, gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as packed:
        packed.writelines(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in told)


if __name__ == "__main__":
    main(*sys.argv[1:])
