"""Helm charts, their tests, and what makes their dashboards and rules."""
