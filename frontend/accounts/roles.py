"""Who may do what: four roles, each of which may all that the one before it may, one beside them, and one table of permissions.

A role is a Django group of its name; a superuser is an administrator. Without a role nothing is allowed. A caller is a person with a
session, or a token that acts for one: with at most that person's role, and perhaps in one cluster only.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, Group, User
from django.db import transaction
from django.db.models import Q, QuerySet


class Role(StrEnum):
    """What somebody is here for: the ladder, least first, and beside it programs that send signals."""

    VIEWER = "viewer"
    RESEARCHER = "researcher"
    OPERATOR = "operator"
    ADMIN = "admin"
    SIGNALS = "signals"

    @property
    def rank(self) -> int:
        """More may more; who only sends signals is below everybody."""
        return -1 if self is Role.SIGNALS else list(Role).index(self)


class Permission(StrEnum):
    """What can be allowed; templates ask for these words."""

    ACCOUNT = "account"  # be known, whatever the role, or none
    READ = "read"  # see everything of a cluster
    OWN_TOKENS = "own_tokens"  # make and revoke one's own
    SUBMIT = "submit"  # submit jobs
    OWN_JOBS = "own_jobs"  # cancel, hold and release the jobs that one has submitted
    ANY_JOB = "any_job"  # the same with the jobs of others
    NODES = "nodes"  # say things of nodes and racks
    INVENTORY = "inventory"  # import what exists
    RACKS = "racks"  # remove racks for good
    SIGNALS = "signals"  # send signals about the health of nodes
    POLICY = "policy"  # change the policy
    USERS = "users"  # make users, give roles, deactivate
    ANY_TOKEN = "any_token"  # see and revoke the tokens of others


#: The least role that has each permission.
LEAST_ROLE: dict[Permission, Role | None] = {
    Permission.ACCOUNT: None,
    Permission.READ: Role.VIEWER,
    Permission.OWN_TOKENS: Role.VIEWER,
    Permission.SUBMIT: Role.RESEARCHER,
    Permission.OWN_JOBS: Role.RESEARCHER,
    Permission.ANY_JOB: Role.OPERATOR,
    Permission.NODES: Role.OPERATOR,
    Permission.INVENTORY: Role.OPERATOR,
    Permission.SIGNALS: Role.OPERATOR,
    Permission.RACKS: Role.ADMIN,
    Permission.POLICY: Role.ADMIN,
    Permission.USERS: Role.ADMIN,
    Permission.ANY_TOKEN: Role.ADMIN,
}

ROLE_MEANING: dict[Role, str] = {
    Role.VIEWER: "sees everything",
    Role.RESEARCHER: "also submits jobs, and cancels, holds and releases their own",
    Role.OPERATOR: "also acts on nodes, on any job, and imports inventories",
    Role.ADMIN: "also changes policies, users and the tokens of others, and removes racks",
    Role.SIGNALS: "sends signals about nodes, and may do nothing else",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Somebody who asks for something."""

    name: str
    role: Role | None
    cluster: str = ""  # the only one that it may see; "" = all
    by_token: bool = False

    def may(self, permission: Permission) -> bool:
        """Whether the role has the permission."""
        least = LEAST_ROLE[permission]
        if least is None:
            return self.name != ""
        if self.role is Role.SIGNALS:
            return permission is Permission.SIGNALS
        return self.role is not None and self.role.rank >= least.rank

    def sees(self, cluster: str) -> bool:
        """Whether the cluster is among those that it may ask about."""
        return self.cluster in ("", cluster)

    def may_act_on(self, submitted_by: str) -> bool:
        """Whether it may cancel, hold and release a job of that submitter."""
        return self.may(Permission.ANY_JOB) or (self.may(Permission.OWN_JOBS) and submitted_by == self.name)


def role_of(user: AbstractBaseUser | AnonymousUser) -> Role | None:
    """The highest role that the user has; None for nobody, for a user without one, and for one who was deactivated."""
    return granted_role(user) if isinstance(user, User) and user.is_active else None


def granted_role(user: User) -> Role | None:
    """The role that the user has while active."""
    if user.is_superuser:
        return Role.ADMIN
    names = {group.name for group in user.groups.all()}
    return max((role for role in Role if role in names), key=lambda role: role.rank, default=None)


def grant(user: User, role: Role) -> None:
    """The user has this role and no other."""
    with transaction.atomic():
        group, _ = Group.objects.get_or_create(name=role.value)
        others = user.groups.filter(name__in=list(Role)).exclude(pk=group.pk)
        user.groups.remove(*others)
        user.groups.add(group)
        if user.is_superuser != (role is Role.ADMIN):
            user.is_superuser = user.is_staff = role is Role.ADMIN
            user.save(update_fields=["is_superuser", "is_staff"])


def administrators() -> QuerySet[User]:
    """Active users who are administrators, the first one first."""
    return User.objects.filter(Q(is_superuser=True) | Q(groups__name=Role.ADMIN.value), is_active=True).order_by("pk").distinct()


def lower(first: Role, second: Role | None) -> Role | None:
    """The role that may only what both may; none where either is none, or where they have nothing in common."""
    if second is None:
        return None
    less, more = sorted((first, second), key=lambda role: role.rank)
    return less if less is not Role.SIGNALS or Caller(name="", role=more).may(Permission.SIGNALS) else None
