"""`manage.py make_token --user NAME`: a token for a program, printed once."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from clusters.domain.errors import InvalidRequest
from frontend.accounts.roles import Role, role_of
from frontend.accounts.tokens import DAYS, DEFAULT_DAYS, token_create


class Command(BaseCommand):
    """Prints the token alone on a line of its own, so that scripts can read it."""

    help = "Print a token that programs send as `Authorization: Bearer sk_...`."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", metavar="NAME", required=True, help="for whom it acts")
        parser.add_argument("--role", choices=list(Role), help="at most (what the user has)")
        parser.add_argument("--cluster", metavar="NAME", default="", help="the only one that it may ask about (all)")
        parser.add_argument("--days", type=int, default=DEFAULT_DAYS, help=f"until it expires, {DAYS[0]} to {DAYS[1]} ({DEFAULT_DAYS})")
        parser.add_argument("--label", default="command line", help="what it is for")

    def handle(self, *_args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["user"], is_active=True).first()
        if user is None:
            raise CommandError(f"--user: there is no active user {options['user']!r}")
        role = Role(options["role"]) if options["role"] else role_of(user)
        if role is None:
            raise CommandError(f"--user: {options['user']} has no role yet, so no token can have one; an administrator gives it")
        try:
            _, secret = token_create(user=user, label=options["label"], role=role, cluster=options["cluster"], days=options["days"])
        except InvalidRequest as error:
            raise CommandError(f"--{error}") from None
        self.stdout.write(secret)
