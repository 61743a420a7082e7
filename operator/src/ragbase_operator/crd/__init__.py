"""From the models to CustomResourceDefinitions and their reference page: pure functions."""
