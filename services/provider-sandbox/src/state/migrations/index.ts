import type { Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/** The sandbox has SQLite only, so its schema is written in SQL. */
function migration(name: string, statements: string[]): Migration {
  const up: Migration['up'] = async (db) => {
    for (const statement of statements) await sql.raw(statement).execute(db)
  }
  return { name, up }
}

export const migrations: Migration[] = [
  migration('sandbox-0001-state', [
    `create table objects (
      seq integer primary key autoincrement, id text not null unique, kind text not null,
      created integer not null, parent text, body text not null, hidden text not null)`,
    'create index objects_kind on objects (kind, seq)',
    'create index objects_parent on objects (parent)',
    `create index objects_payment_intent
      on objects (kind, json_extract(body, '$.payment_intent'))`,
    'create table counters (name text primary key, value integer not null)',
    'create table "values" (name text primary key, value text not null)',
    `create table timers (
      id integer primary key autoincrement, due_at text not null, action text not null,
      object_id text not null)`,
    'create index timers_due on timers (due_at)',
    `create table idempotency_keys (
      key text primary key, fingerprint text not null, expires_at text not null, status integer,
      body text, request_id text not null)`,
  ]),
  migration('sandbox-0002-deliveries', [
    `create table deliveries (
      id integer primary key autoincrement, event_id text not null, endpoint_id text not null,
      state text not null, attempts integer not null, next_attempt_at text not null)`,
    'create index deliveries_due on deliveries (state, next_attempt_at)',
    'create index deliveries_event on deliveries (event_id)',
    `create table delivery_attempts (
      id integer primary key autoincrement, delivery_id integer not null, at text not null,
      request_headers text not null, request_body text not null, status integer,
      response_headers text not null, response_body text not null, error text,
      milliseconds integer not null)`,
    'create index delivery_attempts_delivery on delivery_attempts (delivery_id)',
  ]),
  migration('sandbox-0003-faults-and-requests', [
    `create table faults (
      id integer primary key autoincrement, route text not null, kind text not null,
      remaining integer, probability real not null, detail text not null)`,
    `create table requests (
      seq integer primary key autoincrement, id text not null, at text not null,
      method text not null, path text not null, idempotency_key text, status integer not null,
      replayed integer not null, fault text)`,
  ]),
]
