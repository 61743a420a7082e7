"""ASGI middleware: what holds for every request, outermost first (see `ragbase.main`)."""
