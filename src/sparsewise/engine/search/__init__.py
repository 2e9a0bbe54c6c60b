"""Searches from several starts, and exchanges of columns."""
