"""The journal's one table, and the views people and reports read.

Everything that happens is an event: (seq, run, step, key, kind, payload, meta, at). Events are only ever added; a
trigger refuses to change or remove one. `payload` is what was decided or found and is a function of the run's
configuration; `meta` is what may differ when the same step is taken again (times, process numbers). A judgement for
which the machine was to blame may be followed by another one of the same candidate, under a key of its own; the last
one counts. Views take events apart by kind:

    candidate   what was proposed: source, parent, technique, parameters
    judgement   what the judge said of a source: verdict, stage, times, evidence
    violation   one row per rule that a candidate broke
    measure     one row per candidate and shape
    policy      versions of the policy
    model_call  what a language model was asked
"""

from __future__ import annotations

VERSION = 1

TABLES = """
CREATE TABLE IF NOT EXISTS run(
    id TEXT PRIMARY KEY, created TEXT NOT NULL, task TEXT NOT NULL, config TEXT NOT NULL, host TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS event(
    seq INTEGER PRIMARY KEY, run TEXT NOT NULL REFERENCES run(id), step INTEGER NOT NULL, key TEXT NOT NULL,
    kind TEXT NOT NULL, payload TEXT NOT NULL, meta TEXT NOT NULL, at TEXT NOT NULL, UNIQUE(run, key));
CREATE INDEX IF NOT EXISTS event_by_kind ON event(run, kind, seq);
CREATE INDEX IF NOT EXISTS judgement_by_question ON event(json_extract(payload, '$.question')) WHERE kind = 'judgement';
CREATE TRIGGER IF NOT EXISTS event_stays BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'events do not change'); END;
CREATE TRIGGER IF NOT EXISTS event_kept BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'events are kept'); END;
CREATE TRIGGER IF NOT EXISTS run_stays BEFORE UPDATE ON run BEGIN SELECT RAISE(ABORT, 'runs do not change'); END;
CREATE TRIGGER IF NOT EXISTS run_kept BEFORE DELETE ON run BEGIN SELECT RAISE(ABORT, 'runs are kept'); END;
"""

VIEWS = """
CREATE VIEW IF NOT EXISTS candidate AS SELECT
    seq, run, step, json_extract(payload, '$.id') AS id, json_extract(payload, '$.parent') AS parent,
    json_extract(payload, '$.source') AS source, json_extract(payload, '$.technique') AS technique,
    json_extract(payload, '$.params') AS params, json_extract(payload, '$.origin') AS origin
    FROM event WHERE kind = 'candidate';
CREATE VIEW IF NOT EXISTS judgement AS SELECT
    seq, run, step, json_extract(payload, '$.candidate') AS candidate, json_extract(payload, '$.verdict') AS verdict,
    json_extract(payload, '$.stage') AS stage, json_extract(payload, '$.evidence') AS evidence, payload, meta
    FROM event WHERE kind = 'judgement';
CREATE VIEW IF NOT EXISTS violation AS SELECT
    event.seq, event.run, event.step, json_extract(event.payload, '$.candidate') AS candidate,
    json_extract(item.value, '$.rule') AS rule, json_extract(item.value, '$.line') AS line,
    json_extract(item.value, '$.message') AS message
    FROM event, json_each(event.payload, '$.violations') AS item WHERE event.kind = 'judgement';
CREATE VIEW IF NOT EXISTS measure AS SELECT
    event.seq, event.run, event.step, json_extract(event.payload, '$.candidate') AS candidate,
    item.key AS shape, item.value AS microseconds, json_extract(event.payload, '$.evidence') AS evidence
    FROM event, json_each(event.payload, '$.times') AS item WHERE event.kind = 'judgement';
CREATE VIEW IF NOT EXISTS policy AS SELECT seq, run, step, payload FROM event WHERE kind = 'policy';
CREATE VIEW IF NOT EXISTS model_call AS SELECT
    seq, run, step, json_extract(payload, '$.request') AS request, json_extract(payload, '$.reply') AS reply,
    json_extract(payload, '$.tokens_in') AS tokens_in, json_extract(payload, '$.tokens_out') AS tokens_out
    FROM event WHERE kind = 'model_call';
"""
