"""Whose a job is: who submitted it may stop it, and so may operators."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied

from frontend.accounts.roles import Caller, Permission
from frontend.selectors.jobs import job_submitter


def require_job(caller: Caller, cluster: str, job: str) -> None:
    """Raise PermissionDenied unless the caller may act on the job; UnknownSubject where there is no such job."""
    if not caller.may(Permission.ANY_JOB) and not caller.may_act_on(job_submitter(cluster, job)):
        raise PermissionDenied(f"Job {job} is not yours: an operator can do this")
