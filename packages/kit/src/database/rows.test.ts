import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromRow, toRow } from './rows.ts'

type NoteRow = { id: number; created_at: string; first_sent_at: string | null }

test('a row in snake_case and its value in camelCase convert into each other', () => {
  const row: NoteRow = { id: 1, created_at: 'now', first_sent_at: null }

  const note = fromRow(row)

  assert.deepEqual(note, { id: 1, createdAt: 'now', firstSentAt: null })
  assert.deepEqual(toRow<NoteRow>(note), row)
})
