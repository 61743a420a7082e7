"""Prompt files, see `ragbase.text.prompts`."""
