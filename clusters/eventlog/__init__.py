"""The event log: what happened to each cluster, in order, and the only way to add to it.

Callers use `clusters.eventlog.store` (the log of this installation), `clusters.eventlog.live` (the state it folds into) and
`clusters.eventlog.memory` (the same contract without a database).
"""
