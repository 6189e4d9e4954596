"""The parts of the reproduction: one module per figure or table of the paper."""
