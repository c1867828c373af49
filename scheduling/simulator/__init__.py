"""The users of simulated fleets: traces that are played again, and the demo's made-up jobs; and reports of how they fared."""
