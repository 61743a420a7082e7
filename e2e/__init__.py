"""End-to-end tests and what they run on."""
