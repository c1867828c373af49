"""Roles: who has which, and how administrators give them."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser, Group, User
from django.core.management import call_command
from django.test import Client

from clusters.domain.errors import InvalidRequest
from frontend.accounts.links import first_run_link
from frontend.accounts.people import MOST_NAME, user_activate, user_create, user_grant
from frontend.accounts.roles import LEAST_ROLE, ROLE_MEANING, Caller, Permission, Role, grant, lower, role_of
from tests.support.people import browser_of, make_user
from tests.support.shared import ROOT

pytestmark = pytest.mark.django_db


def test_the_table_names_every_permission_and_every_role() -> None:
    assert LEAST_ROLE.keys() == set(Permission)
    assert ROLE_MEANING.keys() == set(Role)


@pytest.mark.parametrize("permission", Permission)
def test_a_role_may_all_that_the_one_before_it_may(permission: Permission) -> None:
    allowed = [Caller(name="x", role=role).may(permission) for role in Role if role is not Role.SIGNALS]
    assert allowed == sorted(allowed)
    assert allowed[-1]
    assert not Caller(name="", role=None).may(permission)


def test_who_sends_signals_may_do_nothing_else() -> None:
    allowed = {permission for permission in Permission if Caller(name="x", role=Role.SIGNALS).may(permission)}
    assert allowed == {Permission.SIGNALS, Permission.ACCOUNT}


@pytest.mark.parametrize(
    ("owner", "role"),
    [(Role.ADMIN, Role.SIGNALS), (Role.OPERATOR, Role.SIGNALS), (Role.SIGNALS, Role.SIGNALS), (Role.RESEARCHER, None), (Role.VIEWER, None)],
)
def test_only_who_may_send_signals_can_have_a_program_do_so(owner: Role, role: Role | None) -> None:
    assert lower(Role.SIGNALS, owner) is lower(owner, Role.SIGNALS) is role


def test_roles_are_groups_that_the_migration_makes() -> None:
    assert set(Group.objects.values_list("name", flat=True)) >= set(Role)


def test_the_highest_role_counts_and_nobody_has_none() -> None:
    user = make_user("ada", None)
    assert (role_of(user), role_of(AnonymousUser())) == (None, None)
    user.groups.add(Group.objects.create(name="something else"))
    assert role_of(User.objects.get()) is None
    user.groups.add(*Group.objects.filter(name__in=["viewer", "operator"]))
    assert role_of(User.objects.get()) is Role.OPERATOR
    User.objects.update(is_active=False)
    assert role_of(User.objects.get()) is None


def test_a_role_replaces_the_one_before_and_leaves_other_groups() -> None:
    user = make_user("ada", Role.ADMIN)
    assert user.is_superuser
    user.groups.add(Group.objects.create(name="something else"))
    grant(user, Role.VIEWER)
    kept = User.objects.get()
    assert (role_of(kept), kept.is_superuser) == (Role.VIEWER, False)
    assert set(kept.groups.values_list("name", flat=True)) == {"viewer", "something else"}


def test_the_first_user_is_an_administrator_and_stays_the_one_that_links_are_for() -> None:
    first_run_link("http://testserver")
    assert role_of(User.objects.get()) is Role.ADMIN
    user_create(name="eve", role=Role.ADMIN, by="admin")
    user_grant(user=User.objects.get(username="admin"), role=Role.VIEWER, by="eve")
    call_command("login_link", "--base-url", "http://testserver")
    assert User.objects.count() == 2
    assert role_of(User.objects.get(username="admin")) is Role.VIEWER


@pytest.mark.parametrize("name", ["", "a b", "x" * (MOST_NAME + 1), "a/b", "a\nb"])
def test_a_name_that_could_not_stand_in_the_log_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match="name"):
        user_create(name=name, role=Role.VIEWER, by="admin")
    assert not User.objects.exists()


def test_a_name_is_given_once_whatever_its_case() -> None:
    user_create(name="ada", role=Role.VIEWER, by="admin")
    with pytest.raises(InvalidRequest, match="such a user already"):
        user_create(name="Ada", role=Role.ADMIN, by="admin")


def test_nobody_locks_themselves_or_everybody_out() -> None:
    ada, bob = make_user("ada", Role.ADMIN), make_user("bob", Role.OPERATOR)
    for by, told in (("ada", "your own account"), ("x", "last administrator")):
        with pytest.raises(InvalidRequest, match=told):
            user_grant(user=ada, role=Role.VIEWER, by=by)
        with pytest.raises(InvalidRequest, match=told):
            user_activate(user=ada, active=False, by=by)
    user_grant(user=bob, role=Role.ADMIN, by="ada")
    user_activate(user=ada, active=False, by="bob")
    assert (role_of(User.objects.get(username="ada")), role_of(User.objects.get(username="bob"))) == (None, Role.ADMIN)


# ---- the page


def test_a_new_user_gets_a_link_that_signs_them_in(client: Client) -> None:
    admin = browser_of(make_user("ada", Role.ADMIN))
    page = admin.post("/users/", {"name": "bob", "role": "operator"}).content.decode()
    link = page.split('<pre class="secret">')[1].split("</pre>")[0]
    token = link.split("token=")[1]
    assert client.post("/login/", {"token": token}).status_code == 302
    assert client.get("/").status_code == 200
    bob = User.objects.get(username="bob")
    assert (role_of(bob), bob.has_usable_password()) == (Role.OPERATOR, False)
    assert link not in admin.get("/users/").content.decode()


def test_an_administrator_gives_roles_and_links_and_lets_in_and_out() -> None:
    admin = browser_of(make_user("ada", Role.ADMIN))
    bob = make_user("bob", None)
    browser = browser_of(bob)
    assert browser.get("/").status_code == 403
    assert admin.post(f"/users/{bob.pk}/role/", {"role": "viewer"}).status_code == 302
    assert browser.get("/").status_code == 200
    assert "token=" in admin.post(f"/users/{bob.pk}/link/").content.decode()
    admin.post(f"/users/{bob.pk}/active/", {})
    assert browser.get("/").status_code == 302
    assert admin.post(f"/users/{bob.pk}/link/").status_code == 404
    assert "deactivated" in admin.get("/users/").content.decode()
    admin.post(f"/users/{bob.pk}/active/", {"active": "on"})
    assert role_of(User.objects.get(pk=bob.pk)) is Role.VIEWER


@pytest.mark.parametrize(("path", "sent"), [("role/", {"role": "king"}), ("role/", {}), ("role/", {"role": "viewer"}), ("active/", {})])
def test_what_cannot_be_done_is_said(path: str, sent: dict[str, str]) -> None:
    ada = make_user("ada", Role.ADMIN)
    answer = browser_of(ada).post(f"/users/{ada.pk}/{path}", sent)
    assert answer.status_code == 422
    assert 'role="alert"' in answer.content.decode()
    assert role_of(User.objects.get()) is Role.ADMIN


def test_who_has_no_role_can_still_sign_out() -> None:
    browser = browser_of(make_user("bob", None))
    assert browser.post("/logout/").headers["Location"] == "/login/"
    assert "_auth_user_id" not in browser.session


def test_the_guide_has_the_roles_as_they_are() -> None:
    guide = (ROOT / "docs" / "guides" / "access.md").read_text(encoding="utf-8")
    rows = [row for row in guide.splitlines() if row.startswith("| `")]
    assert rows == [f"| `{role}` | {ROLE_MEANING[role]} |" for role in Role]
