"""How values cross the wire: vectors as float32 arrays, JSON by orjson."""

from __future__ import annotations

from typing import Any

import asyncpg
import numpy as np
import orjson

from ragbase.models.domain import Vector, Vectors

__all__ = [
    "decode_vector",
    "encode_vector",
    "encode_vectors",
    "find_vector_schema",
    "register_codecs",
]


def encode_vector(value: Any) -> bytes:
    """pgvector's binary format: two big-endian int16 (dimension, 0), then float32 values.

    Bytes pass as they are: see `encode_vectors`.
    """
    if isinstance(value, bytes):
        return value
    array = np.asarray(value, dtype=">f4")
    if array.ndim != 1:
        raise ValueError(f"a vector has one axis, not {array.ndim}")
    return array.size.to_bytes(2, "big") + b"\0\0" + array.tobytes()


def encode_vectors(vectors: Vectors) -> list[bytes]:
    """Rows of a matrix, encoded, for a parameter of type ``vector[]``.

    (In a list of arrays the driver would see an array of two dimensions.)
    """
    return [encode_vector(row) for row in np.asarray(vectors, dtype=">f4")]


def decode_vector(data: bytes) -> Vector:
    """The inverse of `encode_vector`: a writable float32 array of shape (d,)."""
    return np.frombuffer(data, dtype=">f4", offset=4).astype(np.float32)


def _encode_json(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)


def _encode_jsonb(value: Any) -> bytes:
    return b"\x01" + _encode_json(value)


def _decode_jsonb(data: bytes) -> Any:
    return orjson.loads(memoryview(data)[1:])


async def register_codecs(connection: Any, vector_schema: str | None) -> None:
    """Teach one connection our types; ``vector_schema`` is where the extension lives, if it does."""
    await connection.set_type_codec(
        "jsonb", schema="pg_catalog", encoder=_encode_jsonb, decoder=_decode_jsonb, format="binary"
    )
    if vector_schema is not None:
        await connection.set_type_codec(
            "vector",
            schema=vector_schema,
            encoder=encode_vector,
            decoder=decode_vector,
            format="binary",
        )


async def find_vector_schema(connection: asyncpg.Connection[asyncpg.Record]) -> str | None:
    """Schema of the extension ``vector``; None before it is created."""
    schema: str | None = await connection.fetchval(
        "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
        "WHERE e.extname = 'vector'"
    )
    return schema
