"""Backups: everything in the database in a folder with a manifest, and back again."""
