"""Benches: measured as ratios and margins in one run, never as timed unit tests."""
