"""`manage.py launch`: the nodes and ranks of a placed job, as a launcher reads them."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from clusters.domain.decision import Refusal
from clusters.domain.errors import ClusterError
from clusters.management.telling import in_words
from scheduling.domain.refusals import explain
from scheduling.launch.assignment import Launch
from scheduling.launch.formats import Format, incomplete, written
from scheduling.launch.service import job_launch


class Command(BaseCommand):
    """Reads the state, or the job's events for an earlier generation; changes nothing."""

    help = "Write the nodes and ranks of a placed job for mpirun, deepspeed, torchrun or srun."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("job", help="id of the job, such as j000123")
        parser.add_argument("--cluster", required=True)
        parser.add_argument("--format", choices=[form.value for form in Format], default=Format.HOSTFILE.value)
        parser.add_argument("--generation", type=int, help="an earlier assignment; default: the one the job has")

    def handle(self, *_args: Any, **options: Any) -> None:
        form = Format(options["format"])
        try:
            launch = job_launch(cluster=options["cluster"], job=options["job"], generation=options["generation"])
        except ClusterError as error:
            raise CommandError(in_words(error)) from error
        self.stdout.write(written(_complete(launch, form), form), ending="")


def _complete(launch: Launch | Refusal, form: Format) -> Launch:
    refusal = launch if isinstance(launch, Refusal) else incomplete(launch, form)
    if refusal is not None:
        raise CommandError(f"{explain(refusal)}.")
    assert isinstance(launch, Launch)
    return launch
