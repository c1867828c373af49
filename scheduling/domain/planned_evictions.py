"""Whom to evict, asked of the planner that makes room: who has to leave so that all slices of a waiting job fit, at least cost.

It is the question of `defrag` without moves: all of a victim stops and waits. The planner sees all slices of the job and whole domains at
once, so no work leaves one domain in vain while another stays short. Its answer is a proposal: the caller holds it to placement itself.
"""

from __future__ import annotations

from clusters.domain.defrag import PlanAim
from clusters.domain.slices import whole_nodes
from clusters.domain.state import Job
from scheduling.domain.defrag.cascade import first_plan
from scheduling.domain.defrag.problem import Terms, problem_for_job
from scheduling.domain.trial import Trial


def planned_victims(trial: Trial, job: Job, candidates: frozenset[str]) -> tuple[str, ...]:
    """Of the candidates those that leave, in the plan that costs least of those that the planner finds at once; none where it finds none.

    Parts of a node are not its matter: what shares one would leave together.
    """
    if not whole_nodes(job.request, trial.topology.usual_gpus):
        return ()
    terms = Terms(victims=candidates, higher=True, moves=False)  # the candidates are what the caller's rule allows
    problem = problem_for_job(trial, job, may_wait=True, use_spares=True, aim=PlanAim.QUOTA, terms=terms)
    if problem is None:
        return ()
    problem = problem.without_spares() or problem  # a job starts without its spares rather than wait
    solution = first_plan(problem)
    return () if solution is None else tuple(name for owner in solution.waits for name in problem.owners[owner].jobs)
