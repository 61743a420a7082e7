"""Documents with context lines while their language model is slow, down or wrong.

No document is lost, the answer and the job say why lines are missing, and trying again works.
The table is the one of docs/llm.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from ragbase.clients.retry import RetryPolicy
from ragbase.embedded import EmbeddedPostgres

from ..eventually import eventually
from ..llm_server import Raw, Refuse, Say, Talker, talking
from .conftest import open_world
from .told import SETTINGS, TEXT, Told, line


def _slow(talker: Talker) -> None:
    talker.always = Say("Late.", wait_s=20)


def _drips(talker: Talker) -> None:
    talker.always = Say("drip by drip, " * 200, drip_s=0.1)


def _overloaded(talker: Talker) -> None:
    talker.always = Refuse(503)


def _limited(talker: Talker) -> None:
    talker.always = Refuse(429)


def _garbage(talker: Talker) -> None:
    talker.always = Raw(b"\x00\xff garbage \n\n data: ]\n\n")


def _only_thinking(talker: Talker) -> None:
    talker.always = Say("<think>What is this about? {", thinking="Hm.")


def _cut(talker: Talker) -> None:
    talker.always = Say("The first words of a line.", end="cut")


def _silent(talker: Talker) -> None:
    talker.always = Say("The first words of a line.", end="silent")


def _unfinished(talker: Talker) -> None:
    talker.always = Say("The first words", end="length")


def _wrong_key(talker: Talker) -> None:
    talker.api_key = "another"


def _lost_model(talker: Talker) -> None:
    talker.always = Refuse(404, b'{"error":{"message":"The model `x` does not exist."}}')


def _half_json(talker: Talker) -> None:
    talker.always = Raw(b'{"output": [{"type": "mess', "application/json")


FAULTS: list[tuple[Callable[[Talker], None], set[str]]] = [
    (_slow, {"llm_timeout", "context_budget"}),
    (_drips, {"llm_timeout", "context_budget"}),
    (_overloaded, {"llm_unavailable"}),
    (_limited, {"llm_rate_limited"}),
    (_garbage, {"llm_unavailable", "llm_unusable_answer"}),
    (_only_thinking, {"llm_unusable_answer"}),
    (_cut, {"llm_unavailable"}),
    (_silent, {"llm_unavailable"}),
    (_unfinished, {"llm_unusable_answer"}),
    (_wrong_key, {"llm_refused"}),
    (_lost_model, {"llm_refused"}),
    (_half_json, {"llm_unusable_answer"}),
]


@pytest.mark.parametrize(("fault", "codes"), FAULTS, ids=[each[0].__name__[1:] for each in FAULTS])
async def test_the_document_is_stored_the_job_says_why_and_trying_again_works(
    told: Told, fault: Callable[[Talker], None], codes: set[str]
) -> None:
    well = Talker(url=told.talker.url, answer=line)
    fault(told.talker)
    started = time.monotonic()
    stored = await told.post()
    assert time.monotonic() - started < 15
    assert stored["context"]["status"] == "queued"
    assert stored["context"]["done"] == 0
    [warning] = stored["warnings"]
    assert warning["code"] == "context_incomplete"
    assert (await told.found("quay")).count(stored["id"]) == stored["chunk_count"], "searchable"

    job_id = stored["context"]["job_id"]
    failing = await told.job(job_id, ended=False)
    assert (failing["kind"], failing["document_id"]) == ("context", stored["id"])

    async def reason() -> bool:
        error = (await told.get(f"/v1/jobs/{job_id}"))["error"]
        return error is not None and error["code"] in codes | {"llm_left_alone"}

    await eventually(reason, 20)
    told.talker.__dict__.update(well.__dict__)
    job = await told.job(job_id)
    if job["state"] == "failed":  # the fault outlived the attempts
        await told.world.client.post(f"/v1/jobs/{job_id}/retry")
        job = await told.job(job_id)
    assert job["state"] == "succeeded", job
    assert job["result"]["outcome"] == "done"
    detail = await told.get(f"/v1/documents/{stored['id']}")
    assert detail["context"]["status"] == "done"
    assert (await told.found("Zephyrine")).count(stored["id"]) == stored["chunk_count"]


async def test_a_server_that_is_down_and_comes_back(told: Told) -> None:
    told.stop()
    started = time.monotonic()
    stored = await told.post()
    assert time.monotonic() - started < 10
    assert stored["context"]["status"] == "queued"
    assert "cannot be reached" in stored["warnings"][0]["message"]
    assert (await told.get("/health"))["llm"] != "disabled"

    async def seen() -> bool:
        return str((await told.get("/health"))["llm"]).startswith("error")

    await eventually(seen, 10)
    told.start()
    assert (await told.job(stored["context"]["job_id"]))["state"] == "succeeded"
    assert len(await told.found("Zephyrine")) == stored["chunk_count"]

    async def healthy() -> bool:
        return (await told.get("/health"))["llm"] == "healthy"

    await eventually(healthy, 10)


async def test_a_job_that_fails_for_good_can_be_tried_again(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    told.talker.always = Refuse(503)
    stored = await told.post()
    job_id = stored["context"]["job_id"]
    await told.rows("UPDATE jobs SET max_attempts = 1 WHERE id = $1", job_id)
    job = await told.job(job_id)
    assert job["state"] == "failed"
    assert job["error"]["code"] in ("llm_unavailable", "llm_left_alone")
    assert (await told.get(f"/v1/documents/{stored['id']}"))["context"]["status"] == "failed"
    told.talker.always = None

    async def up() -> bool:
        return (await told.get("/health"))["llm"] == "healthy"

    await eventually(up, 10)
    await told.rows("UPDATE jobs SET max_attempts = 10 WHERE id = $1", job_id)
    await told.world.client.post(f"/v1/jobs/{job_id}/retry")
    assert (await told.job(job_id))["state"] == "succeeded"
    assert (await told.get(f"/v1/documents/{stored['id']}"))["context"]["status"] == "done"


async def test_one_answer_that_cannot_be_used_costs_one_line(told: Told) -> None:
    told.talker.script.extend([None, None, Say(" \x00 "), Say("<think>"), Say("<think>")])
    stored = await told.post()
    assert 0 < stored["context"]["done"] < stored["chunk_count"]
    job = await told.job(stored["context"]["job_id"])
    assert job["state"] == "succeeded"
    asked = [call.prompt for call in told.talker.calls]
    detail = await told.get(f"/v1/documents/{stored['id']}")
    assert detail["context"]["status"] == "done"
    assert len(asked) <= stored["chunk_count"] + 6, "what was had is not asked for again"


async def test_a_document_too_long_for_the_model_is_asked_about_in_smaller_windows(
    told: Told,
) -> None:
    """R45: too long meant no context lines at all, silently."""
    content = "\n\n".join(f"{TEXT}\n\nVolume {number}." for number in range(8))
    told.talker.context_chars = 2_600
    stored = await told.post(content=content)
    assert stored["context"]["status"] == "done", stored["warnings"]
    assert max(len(call.prompt) for call in told.talker.calls[-5:]) <= 2_600


async def test_a_chunk_that_never_fits_the_model_is_told(told: Told) -> None:
    told.talker.context_chars = 300
    stored = await told.post()
    job = await told.job(stored["context"]["job_id"])
    assert (job["state"], job["error"]["code"]) == ("failed", "llm_input_too_long")
    assert (await told.found("quay")).count(stored["id"]) == stored["chunk_count"]


async def test_a_newer_version_wins_over_the_job_of_the_older(told: Told) -> None:
    told.talker.always = Refuse(503)
    first = await told.post(external_id="log")
    told.talker.always = None

    async def up() -> bool:
        return (await told.get("/health"))["llm"] == "healthy"

    await eventually(up, 10)
    newer = "A new text, of the quay number 7 alone."
    second = await told.post(200, external_id="log", content=newer)
    assert second["id"] == first["id"]
    await told.job(first["context"]["job_id"])
    rows = await told.rows(
        "SELECT content, context, indexed_content FROM chunks WHERE document_id = $1", first["id"]
    )
    assert [(row[0], row[1]) for row in rows] == [(newer, "Captain Zephyrine, part 7.")]
    assert rows[0][2] == f"[Log] Captain Zephyrine, part 7. {newer}"


async def test_posting_again_waits_for_the_job_that_is_queued_or_begins_another(
    told: Told,
) -> None:
    told.talker.always = Refuse(503)
    first = await told.post(external_id="log")
    job_id = first["context"]["job_id"]
    await told.rows("UPDATE jobs SET max_attempts = 1 WHERE id = $1", job_id)
    assert (await told.job(job_id))["state"] == "failed"
    again = await told.post(200, external_id="log")
    assert again["outcome"] == "unchanged"
    assert again["context"]["status"] == "queued"
    assert again["context"]["job_id"] > job_id
    told.talker.always = None
    assert (await told.job(again["context"]["job_id"]))["state"] == "succeeded"


async def test_a_document_that_is_deleted_meanwhile_ends_its_job(told: Told) -> None:
    told.talker.always = Refuse(503)
    stored = await told.post()
    await told.world.client.delete(f"/v1/documents/{stored['id']}")
    job = await told.job(stored["context"]["job_id"])
    assert job["state"] == "succeeded"
    assert job["result"]["outcome"] in ("gone", "unchanged", "superseded")


async def test_lines_of_a_job_change_vectors_terms_and_index_text_together(told: Told) -> None:
    """The rows are those that an ingest with a model that is well would have stored."""
    told.talker.always = Refuse(503)
    late = await told.post()
    told.talker.always = None
    assert (await told.job(late["context"]["job_id"]))["state"] == "succeeded"
    prompt = await told.post()
    facts = """
        SELECT c.chunk_index, c.content, c.indexed_content, c.lexical_text, c.context,
            e.embedding::text,
            (SELECT array_agg((p.term_key, p.tf, p.dl)::text ORDER BY p.term_key)
             FROM postings p WHERE p.chunk_id = c.id)
        FROM chunks c JOIN embeddings e ON e.chunk_id = c.id
        WHERE c.document_id = $1 ORDER BY c.chunk_index
    """
    one = [tuple(row) for row in await told.rows(facts, late["id"])]
    other = [tuple(row) for row in await told.rows(facts, prompt["id"])]
    assert one == other


async def test_without_a_model_a_warning_says_so_and_posting_again_later_mends_it(
    postgres: EmbeddedPostgres,
) -> None:
    body = {
        "title": "Log",
        "content": TEXT,
        "contextual_retrieval": True,
        "external_id": "later",
        "collection": "later",
    }
    settings = {**SETTINGS, "llm_contextual_budget_s": 20.0}
    async with open_world(postgres, RetryPolicy(attempts=2), 5.0, **settings) as world:
        await world.client.put("/v1/collections/later", json={})
        stored = (await world.client.post("/v1/documents", json=body)).json()
        assert [each["code"] for each in stored["warnings"]] == ["context_unavailable"]
        assert stored["context"]["status"] == "missing"
        assert (await world.client.get("/health")).json()["llm"] == "disabled"
    talker = Talker(answer=line)
    with talking(talker):
        settings = {**settings, "llm_base_url": talker.url}
        async with open_world(postgres, RetryPolicy(attempts=2), 5.0, **settings) as world:
            again = (await world.client.post("/v1/documents", json=body)).json()
            assert (again["outcome"], again["context"]["status"]) == ("unchanged", "queued")
            told = Told(world, talker, ExitStack())
            assert (await told.job(again["context"]["job_id"]))["state"] == "succeeded"
            assert stored["id"] in await told.found("Zephyrine", "later")


async def test_no_search_ever_asks_the_model(told: Told) -> None:
    await told.post()
    asked = len(told.talker.calls)
    for path in ("/v1/search", "/v1/search/keyword", "/v1/search/semantic"):
        answer = await told.world.client.post(path, json={"query": "Who came to the quay?"})
        assert answer.status_code == 200
    assert len(told.talker.calls) == asked
