"""Ways to run a model; `ragbase_inference.backends.open` picks one."""
