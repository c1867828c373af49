"""Placement cases: questions of a file (who fits where on which nodes), answered by the engine alone.

`fields` reads values and says what is wrong with them, `nodes` and `reading` make a tree and a request of a case, `blocks` adds joined
blocks to a tree, `consolidating` makes room by moves, `answering` asks the engine and words its answers. Two kinds of file are known:
`placement-cases/1` and `slurm-observed/1`.
"""

from __future__ import annotations
