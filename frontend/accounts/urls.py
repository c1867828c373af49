"""Where login, logout, users and tokens answer."""

from __future__ import annotations

from django.urls import path

from frontend.accounts import token_views, user_views, views

urlpatterns = [
    path("login/", views.sign_in, name="login"),
    path("logout/", views.sign_out, name="logout"),
    path("users/", user_views.users_page, name="users"),
    path("users/<int:user>/role/", user_views.user_role, name="user-role"),
    path("users/<int:user>/active/", user_views.user_active, name="user-active"),
    path("users/<int:user>/link/", user_views.user_link, name="user-link"),
    path("tokens/", token_views.tokens_page, name="tokens"),
    path("tokens/<int:token>/revoke/", token_views.token_end, name="token-revoke"),
]
