-- Stands in for pg_search in tests: the names, types and operators that the paradedb dialect's
-- statement uses, so that the whole statement is parsed, planned and executed by a real Postgres.
-- A score is the number of the query's terms in a chunk; the real ranking is not imitated.
CREATE SCHEMA pdb;

CREATE TYPE pdb.const;
CREATE FUNCTION pdb.const_in(cstring) RETURNS pdb.const LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION pdb.const_out(pdb.const) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE pdb.const (
    INPUT = pdb.const_in, OUTPUT = pdb.const_out, TYPMOD_IN = timetypmodin, LIKE = text
);
CREATE CAST (bigint[] AS pdb.const) WITH INOUT;

CREATE FUNCTION pdb.term_set(bigint[]) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS 'SELECT $1';

CREATE FUNCTION pdb.any_term(text, text[]) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('emulated.terms', array_to_string($2, ' '), true);
    RETURN string_to_array($1, ' ') && $2;
END $$;
CREATE OPERATOR ||| (LEFTARG = text, RIGHTARG = text[], FUNCTION = pdb.any_term);

CREATE FUNCTION pdb.in_set(bigint, pdb.const) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN $1 = ANY ((pdb.const_out($2)::text)::bigint[]);
END $$;
CREATE OPERATOR @@@ (LEFTARG = bigint, RIGHTARG = pdb.const, FUNCTION = pdb.in_set);

CREATE FUNCTION pdb.score(bigint) RETURNS real LANGUAGE sql VOLATILE AS $$
    SELECT count(*)::real
    FROM chunks c, unnest(string_to_array(c.lexical_text, ' ')) t
    WHERE c.id = $1 AND t = ANY (string_to_array(current_setting('emulated.terms'), ' '))
$$;

CREATE INDEX chunks_bm25 ON chunks (id, collection_id);
CREATE UNLOGGED TABLE bm25_guard (relid oid PRIMARY KEY);
INSERT INTO bm25_guard (relid) VALUES ('chunks_bm25'::regclass);
INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
    VALUES (99999, 'pg_search', 10, 'pdb'::regnamespace, false, '0.0.0');
