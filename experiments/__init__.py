"""What produced the numbers: one folder for each experiment, with its results."""
