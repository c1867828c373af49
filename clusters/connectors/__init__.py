"""Acting on an engine and observing it: one contract (base), one connector for each kind of engine."""
