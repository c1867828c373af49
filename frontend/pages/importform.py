"""The form that an inventory is uploaded with."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.core.validators import RegexValidator

from clusters.eventlog.facts import MAX_CLUSTER
from clusters.inventory.labels import MAX_LABEL_KEY
from frontend.api.inventory import MOST_BYTES
from frontend.converters import ClusterName
from frontend.imports.uploads import Draft

TOO_LARGE = f"This has more than {MOST_BYTES // 2**20} MiB; import it with the command import_cluster, or leave out what is no node."

_TYPED = {"autocomplete": "off", "spellcheck": "false"}


def _label(label: str, hint: str) -> forms.CharField:
    return forms.CharField(label=label, required=False, max_length=MAX_LABEL_KEY, widget=forms.TextInput(attrs=_TYPED), help_text=hint)


class ImportForm(forms.Form):
    """An inventory as people upload it."""

    cluster = forms.CharField(
        label="Cluster",
        max_length=MAX_CLUSTER,
        widget=forms.TextInput(attrs={**_TYPED, "list": "clusters"}),
        help_text="One that is there, or the name of a new one.",
        validators=[RegexValidator(rf"\A{ClusterName.regex}\Z", f"Give 1 to {MAX_CLUSTER} letters, digits, dots, dashes or underscores.")],
    )
    file = forms.FileField(
        label="Inventory",
        max_length=255,
        help_text="What kubectl get nodes -o json or scontrol show nodes --json prints, or native YAML. At most 16 MiB.",
        error_messages={"required": "Give a file.", "empty": "The file is empty; give an inventory."},
    )
    topology = forms.FileField(
        label="Slurm's topology file",
        max_length=255,
        required=False,
        help_text="topology.yaml, or topology.conf where there is none. Only with Slurm nodes.",
        error_messages={"empty": "The file is empty; leave it out, or give Slurm's topology file."},
    )
    rack_label = _label("Label of the rack", "Kubernetes only. Without it the labels of the common clouds are read.")
    domain_label = _label("Label of the domain", "Kubernetes only. Without it the NVLink clique counts.")

    def clean(self) -> dict[str, Any]:
        """No more than a request may have, whichever way it came in."""
        files = [(field, sent) for field in ("file", "topology") if isinstance(sent := self.cleaned_data.get(field), UploadedFile)]
        if sum(sent.size or 0 for _, sent in files) > MOST_BYTES:
            self.add_error(files[0][0], TOO_LARGE)
        return self.cleaned_data

    def draft(self) -> Draft:
        """What is to be imported; the form is valid."""
        file, topology = self.cleaned_data["file"], self.cleaned_data["topology"]
        return Draft(
            cluster=self.cleaned_data["cluster"],
            filename=file.name,
            content=file.read(),
            topology_name=topology.name if topology else "",
            topology=topology.read() if topology else None,
            rack_label=self.cleaned_data["rack_label"],
            domain_label=self.cleaned_data["domain_label"],
        )
