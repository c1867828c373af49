"""How many nodes slices of each size can use: the model, what the cluster's own log says of its parameters, and advice.

`model` computes, `compare` finds where one size overtakes another, `failures` and `money` hold the plain arithmetic around it; `history`
and `watch` collect what happened, `estimate` reads p and rho off it with intervals, `advice` says which size a mix of jobs should use, and
`report` puts all of it into plain dicts for the command, the API and the pages.
"""
