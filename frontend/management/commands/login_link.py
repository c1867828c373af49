"""`manage.py login_link`: a one-time link for somebody who has no session."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from frontend.accounts.links import LINK_LIFETIME, address_file, first_user, link_create


class Command(BaseCommand):
    """Prints the link alone on a line of its own, so that scripts can read it."""

    help = "Print a link that signs a user in once."

    def add_arguments(self, parser: CommandParser) -> None:
        hours = int(LINK_LIFETIME.total_seconds() // 3600)
        parser.add_argument("--user", metavar="NAME", help=f"for whom (the first administrator); the link lasts {hours} hours")
        parser.add_argument(
            "--base-url",
            metavar="URL",
            help="how people reach the pages (that of `serve` on this data directory, else from the environment)",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        user = self.user(options["user"]) if options["user"] else first_user()
        address = address_file()
        served = address.read_text() if address.exists() else settings.ENVIRONMENT.public_url
        base_url = (options["base_url"] or served).rstrip("/")
        self.stdout.write(link_create(user=user, base_url=base_url))

    def user(self, name: str) -> User:
        try:
            return User.objects.get(username=name, is_active=True)
        except User.DoesNotExist:
            known = ", ".join(User.objects.filter(is_active=True).order_by("username").values_list("username", flat=True)[:20])
            there = f"give one of: {known}" if known else "there is nobody yet, leave --user out"
            raise CommandError(f"--user: there is no active user {name!r}; {there}") from None
