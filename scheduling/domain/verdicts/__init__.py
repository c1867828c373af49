"""The GPU manager: signals become verdicts, verdicts of one cause become incidents, and what is quiet again comes back.

doubts     what the signals of one node speak for
incidents  nodes of one domain that fail together
flapping   nodes that fail again and again
checks     repaired nodes that are to be checked
breaker    when to stop and ask a person
judge      all of it, as events
"""
