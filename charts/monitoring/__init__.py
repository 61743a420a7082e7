"""Dashboards and rule files of the chart, made out of code: ``python -m charts.monitoring``."""
