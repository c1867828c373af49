"""Programs for the nodes of a job: what the guides show, and what the demonstrations run."""
