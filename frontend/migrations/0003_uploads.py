"""Uploads of inventories, kept between preview and application."""

import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("frontend", "0002_tokens_and_roles"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Upload",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ("cluster", models.CharField(max_length=63)),
                ("filename", models.CharField(max_length=255)),
                ("content", models.BinaryField()),
                ("topology_name", models.CharField(blank=True, max_length=255)),
                ("topology", models.BinaryField(null=True)),
                ("rack_label", models.CharField(blank=True, max_length=317)),
                ("domain_label", models.CharField(blank=True, max_length=317)),
                ("expires_at", models.DateTimeField()),
                ("user", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL)),
            ],
        ),
    ]
