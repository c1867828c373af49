"""Parsers of signals."""
