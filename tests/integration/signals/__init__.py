"""Signals from outside into the log."""
