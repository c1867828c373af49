"""One-time login links, as the database keeps them: only the digest of each token, so a copy of the database signs nobody in."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class LoginToken(models.Model):
    """The secret of one link: good once, for one user, until it expires."""

    digest = models.CharField(max_length=64)  # SHA-256 of the token, in hex; the token itself has 256 random bits
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["digest"], name="login_token_digest_unique")]

    def __str__(self) -> str:
        return f"login link of {self.user}, until {self.expires_at:%Y-%m-%d %H:%M}"
