"""The role of programs that send signals and may do nothing else."""

from __future__ import annotations

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


def make_role(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Roles are groups."""
    apps.get_model("auth", "Group").objects.get_or_create(name="signals")


class Migration(migrations.Migration):
    dependencies = [("frontend", "0003_uploads")]

    operations = [migrations.RunPython(make_role, migrations.RunPython.noop)]
