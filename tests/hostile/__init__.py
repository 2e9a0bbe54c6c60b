"""Hostile input by the thousand, judged by oracles that don't ask the library."""
