"""The cluster behind a port of three methods: a real client, and a fake in memory for tests."""
