"""Where login and logout answer."""

from __future__ import annotations

from django.urls import path

from frontend.accounts import views

urlpatterns = [
    path("login/", views.sign_in, name="login"),
    path("logout/", views.sign_out, name="logout"),
]
