import assert from 'node:assert/strict'
import { test } from 'node:test'
import { folded, noteOf, type Observation } from './timeline.ts'

const seen = (at: string, values: Partial<Observation> = {}): Observation => ({
  at,
  source: 'reconcile',
  kind: 'checkout.session',
  subject: 'cs_1',
  paymentId: null,
  eventId: null,
  note: null,
  anomaly: null,
  statusBefore: null,
  statusAfter: null,
  ...values,
})

test('repeated observations are folded into the first', () => {
  const observations = [
    seen('1'),
    seen('2'),
    seen('3', { statusBefore: 'PENDING/OPEN', statusAfter: 'PENDING/OPEN' }),
    seen('4', { statusBefore: 'PENDING/OPEN', statusAfter: 'PAID/COMPLETE' }),
    seen('5'),
    seen('6', { anomaly: 'amount differs' }),
    seen('7'),
    seen('8', { subject: 'cs_2' }),
  ]

  const folds = folded(observations)

  assert.deepEqual(
    folds.map(({ at, repeats }) => [at, repeats.map((each) => each.at)]),
    [
      ['1', ['2', '3']],
      ['4', ['5']],
      ['6', []],
      ['7', []],
      ['8', []],
    ],
  )
})

test('amounts in notes are written as money', () => {
  const note = (text: string) => noteOf(seen('1', { note: text }), 'eur')

  assert.equal(note('1000 of 4900 eur, then 500 eur'), '€10.00 of €49.00, then €5.00')
  assert.equal(note('asked 3 you'), 'asked 3 you')
})
