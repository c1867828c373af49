"""From plain values to the domain's request: the one way in for JSON bodies, files and forms, so that the same words mean the same job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.domain.constraints import LevelMode, load_constraints
from clusters.domain.jobs import JobKind, JobRequest, OnStall, Recovery, default_restartable

_UNSAID: dict[str, Any] = {"mode": LevelMode.ANY, "layers": (), "parts": (), "plan": None, "after": ()}


def request_of(plain: Mapping[str, Any]) -> JobRequest:
    """The request that these values make; raises InvalidRequest for what only the domain knows to be wrong.

    Values that are left out have the defaults of the domain. Without `nodes` and `gpus` the size follows from the parts, or from the plan.
    """
    values = {**_UNSAID, **plain}
    values["parts"] = [{"mode": LevelMode.ANY, **part} for part in values["parts"]]
    kind = JobKind(values["kind"])
    enums = {"recovery": Recovery(values.get("recovery", Recovery.CHECKPOINT)), "on_stall": OnStall(values.get("on_stall", OnStall.HOLD))}
    values |= {"kind": kind, **enums, **load_constraints(values)}
    values.setdefault("restartable", default_restartable(kind))
    if values.get("nodes") is None and values.get("gpus") is None:
        values |= _size_of(values)
    return JobRequest(**values)


def _size_of(values: Mapping[str, Any]) -> dict[str, int]:
    if values["parts"]:
        return {"nodes": sum(part.nodes for part in values["parts"])}
    return {"gpus": values["plan"].gpus} if values["plan"] is not None else {}
