"""The pool's settings survive re-use, its errors are ours, and it outlives a restart."""

from __future__ import annotations

from ragbase.storage.pool import Database


async def test_session_settings_survive_the_reset_on_release(db: Database) -> None:
    names = ["plan_cache_mode", "hnsw.ef_search", "hnsw.iterative_scan", "jit", "statement_timeout"]
    for _ in range(3):
        async with db.read() as connection:
            await connection.fetchval("SELECT '[1]'::vector <=> '[1]'")
            values = [await connection.fetchval("SELECT current_setting($1)", n) for n in names]
            assert values == ["force_custom_plan", "100", "strict_order", "off", "30s"]
            await connection.execute("SET hnsw.ef_search = 7; SET plan_cache_mode = auto")
