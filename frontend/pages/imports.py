"""Importing an inventory by hand: upload, look at what would change, apply. Nothing is changed before the last of these."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from clusters.domain.errors import InvalidRequest, SourceConflict
from clusters.inventory.model import BadInventory
from frontend.imports.uploads import Draft, draft_import, upload_drop, upload_find, upload_keep
from frontend.pages.base import frame, page, switcher
from frontend.pages.importform import ImportForm
from frontend.pages.importview import preview_context, problems_context
from frontend.selectors.clusters import cluster_names, reading

SECTION = "import"
OVERTAKEN = "The cluster has changed since this was shown. This is what the import would change now."


@require_http_methods(["GET", "HEAD", "POST"])
@page
def import_page(request: HttpRequest) -> HttpResponse:
    """The form; a file that can be imported leads to its preview, any other is told what is wrong with it."""
    if request.method != "POST":
        cluster = request.GET.get("cluster", "")
        return _form(request, ImportForm(initial={"cluster": cluster}), cluster)
    form = ImportForm(request.POST, request.FILES)
    if not form.is_valid():
        return _form(request, form, str(form.cleaned_data.get("cluster", "")))
    draft = form.draft()
    try:
        draft_import(draft, by=request.user.get_username(), dry_run=True)
    except BadInventory as error:
        return _form(request, form, draft.cluster, filename=draft.files, **problems_context(error.problems))
    except InvalidRequest as error:
        form.add_error(error.field if error.field in form.fields else None, f"{error.expected[:1].upper()}{error.expected[1:]}.")
        return _form(request, form, draft.cluster)
    return redirect("frontend:import-preview", upload_keep(_user(request), draft))


@require_http_methods(["GET", "HEAD", "POST"])
@page
def preview_page(request: HttpRequest, upload: UUID) -> HttpResponse:
    """What the upload would change; applies it, or drops it."""
    draft = upload_find(_user(request), upload)
    if draft is None:
        raise Http404("There is no such upload; it may have ended after an hour")
    if request.method == "POST" and "drop" in request.POST:
        upload_drop(_user(request), upload)
        return redirect("frontend:import")
    try:
        return _preview(request, upload, draft)
    except (BadInventory, SourceConflict) as error:
        typed = {"cluster": draft.cluster, "rack_label": draft.rack_label, "domain_label": draft.domain_label}
        return _form(request, ImportForm(initial=typed), draft.cluster, refused=str(error))


def _preview(request: HttpRequest, upload: UUID, draft: Draft) -> HttpResponse:
    context = preview_context(draft_import(draft, by=request.user.get_username(), dry_run=True))
    new = draft.cluster not in cluster_names()
    overtaken = request.method == "POST" and request.POST.get("fingerprint") != context["fingerprint"]
    if request.method == "POST" and not overtaken:
        draft_import(draft, by=request.user.get_username(), dry_run=False)
        upload_drop(_user(request), upload)
        return redirect("frontend:fleet", draft.cluster)
    context |= _frame(draft.cluster) | {"draft": draft, "new": new, "overtaken": OVERTAKEN if overtaken else ""}
    return render(request, "frontend/import_preview.html", context, status=409 if overtaken else 200)


def _form(request: HttpRequest, form: ImportForm, cluster: str, **more: Any) -> HttpResponse:
    context = _frame(cluster) | {"form": form, "names": cluster_names()} | more
    return render(request, "frontend/import.html", context, status=422 if form.errors or more else 200)


def _frame(cluster: str) -> dict[str, Any]:
    """The frame of the cluster's pages, where it is one."""
    if cluster not in cluster_names():
        return {"section": SECTION}
    with reading(cluster) as state:
        return frame(state, SECTION) | switcher()


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
