"""The operator's rights, from the kinds that it makes: what the chart's roles are copied from."""
