"""Models and tables in files."""
