"""What every room may use: text, numbers, files, progress, checks of parameters."""
