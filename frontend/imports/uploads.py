"""Keeping what was uploaded until it is applied, so that what is applied is what was looked at.

An upload belongs to the user who made it and ends after an hour, when it is applied, or with that user's next. It is packed before it is
stored: what can be imported is text, and the database holds a transaction open no longer than it must.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from clusters.inventory.names import plain
from clusters.inventory.service import ImportReport, inventory_import
from frontend.imports.models import Upload

LIFETIME = timedelta(hours=1)
MOST_FILENAME = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What is to be imported."""

    cluster: str
    filename: str
    content: bytes
    topology_name: str = ""
    topology: bytes | None = None
    rack_label: str = ""
    domain_label: str = ""

    @property
    def files(self) -> str:
        """The names of the files."""
        return " with ".join(name for name in (self.filename, self.topology_name) if name)


def upload_keep(user: User, draft: Draft) -> UUID:
    """Keep the draft instead of the user's earlier one."""
    now = timezone.now()
    upload = Upload(
        user=user,
        cluster=draft.cluster,
        filename=plain(draft.filename, MOST_FILENAME),
        content=zlib.compress(draft.content, 1),
        topology_name=plain(draft.topology_name, MOST_FILENAME),
        topology=None if draft.topology is None else zlib.compress(draft.topology, 1),
        rack_label=draft.rack_label,
        domain_label=draft.domain_label,
        expires_at=now + LIFETIME,
    )
    with transaction.atomic():
        Upload.objects.filter(Q(user=user) | Q(expires_at__lte=now)).delete()
        upload.save(force_insert=True)
    return upload.pk


def upload_find(user: User, key: UUID) -> Draft | None:
    """The user's draft; None where there is none, it has ended, or it is somebody else's."""
    upload = Upload.objects.filter(pk=key, user=user, expires_at__gt=timezone.now()).first()
    if upload is None:
        return None
    return Draft(
        cluster=upload.cluster,
        filename=upload.filename,
        content=zlib.decompress(upload.content),
        topology_name=upload.topology_name,
        topology=None if upload.topology is None else zlib.decompress(upload.topology),
        rack_label=upload.rack_label,
        domain_label=upload.domain_label,
    )


def upload_drop(user: User, key: UUID) -> None:
    """Forget the draft."""
    Upload.objects.filter(pk=key, user=user).delete()


def draft_import(draft: Draft, *, by: str, dry_run: bool) -> ImportReport:
    """Import the draft, or say what that would do; raises what `inventory_import` does."""
    return inventory_import(
        cluster=draft.cluster,
        content=draft.content,
        filename=draft.files,
        by=by,
        rack_label=draft.rack_label or None,
        domain_label=draft.domain_label or None,
        topology=draft.topology,
        create=True,
        dry_run=dry_run,
    )
