"""Secrets that sign somebody in, as the database keeps them: only the digest of each, so a copy of the database signs nobody in."""

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


class ApiToken(models.Model):
    """What a program signs in with: good until it expires or is revoked."""

    digest = models.CharField(max_length=64)  # SHA-256 of the secret, in hex; the secret has 256 random bits
    prefix = models.CharField(max_length=16)  # how the secret begins
    label = models.CharField(max_length=64)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    role = models.CharField(max_length=16)  # at most; the owner's own counts too
    cluster = models.CharField(max_length=63, blank=True)  # the only one that it may ask about; "" = all
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["digest"], name="api_token_digest_unique")]

    def __str__(self) -> str:
        return f"token {self.prefix}… of {self.user}, {self.label}"
