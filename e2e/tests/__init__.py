"""Tests of what the scenarios run on, without a node."""
