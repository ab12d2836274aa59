import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cellOf } from './csv.ts'

test('a cell of a CSV file is quoted, on one line, and never a formula', () => {
  assert.equal(cellOf(' a,\n b "c" '), '"a, b ""c"""')
  for (const start of ['=', '+', '-', '@']) assert.equal(cellOf(`${start}1`), `"'${start}1"`)
  assert.equal(cellOf('–'), '"–"')
})
