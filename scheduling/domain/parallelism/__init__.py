"""How the ranks of a job lie on its slices, and what a worse place would cost.

`check` says whether a plan fits its slices, `ranks` orders the ranks of a placed job, `advice` suggests a slice size. `models`, `fabric`,
`spread` and `cost` make the cost model: bytes from the shape of the model, divided by what the links carry; `published` holds figures that
others measured, which nothing here derives.
"""
