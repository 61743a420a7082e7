"""What `make check` and `make audit` run that no ready-made command does."""
