"""The secret key of an embedded installation: made on its first run, kept beside its database."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

SECRET_FILE = "secret.key"
SECRET_BYTES = 48  # 384 bits of randomness, 64 characters
OWNER_ONLY = 0o600


def read_secret(path: Path) -> str:
    """Return the kept secret, or "" when none was made yet; raises OSError or UnicodeDecodeError where it cannot be read."""
    try:
        return path.read_text(encoding="ascii").strip()
    except (FileNotFoundError, NotADirectoryError):
        return ""


def ensure_secret(path: Path) -> None:
    """Make and keep a secret unless there is one.

    The file appears complete or not at all, so of two first runs at once both use the same secret.
    """
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not after the process: in a container each start has the same number, and one that was killed leaves its draft behind.
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(SECRET_BYTES) + "\n")
        os.link(draft, path)  # unlike a rename, never replaces a secret that another process has just made
    except FileExistsError:
        pass
    finally:
        draft.unlink()
