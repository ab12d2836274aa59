import { validationFailed } from '@plinth/kit'
import { FAULT_KINDS, type FaultKind } from '../../faults/fault.ts'
import { secondsOf } from '../../sandbox.ts'
import { importScenario, resetSandbox } from '../../state/scenario.ts'
import type { Switches } from '../../state/switches.ts'
import { advanceClock } from '../clock-controls.ts'
import type { Controls } from '../controls.ts'
import { addEndpoint, removeEndpoint } from '../endpoint-controls.ts'
import { resendEvent } from '../event-controls.ts'
import { addFault, removeFault } from '../fault-controls.ts'
import {
  cancelRefundOf,
  DECLINED_CARD,
  debitSession,
  expireSessionOf,
  failDebit,
  failRefundOf,
  payWithCard,
  settleDebit,
  settleRefundOf,
} from '../session-controls.ts'
import { turnSwitches } from '../state-controls.ts'

export type Field = (name: string) => string

/** Where on the page an action belongs, and what it does with the fields of its form. */
export type PageAction = {
  part: string
  run: (controls: Controls, field: Field) => Promise<unknown> | unknown
}

const UNITS: Record<string, number> = { seconds: 1, minutes: 60, hours: 3600, days: 86_400 }

export const PAGE_ACTIONS: Record<string, PageAction> = {
  pay: { part: 'sessions', run: ({ sandbox }, field) => payWithCard(sandbox, field('id')) },
  decline: {
    part: 'sessions',
    run: ({ sandbox }, field) => payWithCard(sandbox, field('id'), DECLINED_CARD),
  },
  'bank-debit': {
    part: 'sessions',
    run: ({ sandbox }, field) => debitSession(sandbox, field('id')),
  },
  settle: { part: 'sessions', run: ({ sandbox }, field) => settleDebit(sandbox, field('id')) },
  fail: { part: 'sessions', run: ({ sandbox }, field) => failDebit(sandbox, field('id')) },
  expire: { part: 'sessions', run: ({ sandbox }, field) => expireSessionOf(sandbox, field('id')) },

  'settle-refund': {
    part: 'refunds',
    run: ({ sandbox }, field) => settleRefundOf(sandbox, field('id')),
  },
  'fail-refund': {
    part: 'refunds',
    run: ({ sandbox }, field) => failRefundOf(sandbox, field('id')),
  },
  'cancel-refund': {
    part: 'refunds',
    run: ({ sandbox }, field) => cancelRefundOf(sandbox, field('id')),
  },

  'advance-clock': {
    part: 'clock',
    run: (controls, field) =>
      advanceClock(controls, wholeNumber(field, 'amount') * (UNITS[field('unit')] ?? 1)),
  },
  resend: { part: 'deliveries', run: ({ sandbox }, field) => resendEvent(sandbox, field('id')) },
  flush: { part: 'deliveries', run: ({ deliverer }) => deliverer.flush() },
  'add-endpoint': {
    part: 'endpoints',
    run: ({ sandbox }, field) => addEndpoint(sandbox, givenEndpoint(field)),
  },
  'remove-endpoint': {
    part: 'endpoints',
    run: ({ sandbox }, field) => removeEndpoint(sandbox, field('id')),
  },
  switches: { part: 'switches', run: turnSwitchesOf },

  'add-fault': {
    part: 'faults',
    run: ({ sandbox }, field) => addFault(sandbox, givenFault(field)),
  },
  'remove-fault': {
    part: 'faults',
    run: ({ sandbox }, field) => removeFault(sandbox, wholeNumber(field, 'id')),
  },
  release: { part: 'faults', run: ({ held }) => held.release() },

  'import-scenario': { part: 'scenario', run: importGiven },
  reset: { part: 'scenario', run: ({ sandbox, clock }) => resetSandbox(sandbox, clock) },
}

function wholeNumber(field: Field, name: string): number {
  if (/^\d{1,9}$/.test(field(name))) return Number(field(name))
  throw validationFailed([`${name}: must be a whole number`])
}

function givenEndpoint(field: Field) {
  if (!/^https?:\/\//.test(field('url')) || field('secret') === '')
    throw validationFailed(['url, secret: an address and its secret are needed'])
  return { url: field('url'), secret: field('secret') }
}

function givenFault(field: Field) {
  const kind = field('kind') as FaultKind
  if (!Object.hasOwn(FAULT_KINDS, kind)) throw validationFailed(['kind: must be one of the list'])
  return {
    kind,
    route: field('route') || '*',
    times: field('times') === '' ? null : wholeNumber(field, 'times'),
    probability: Math.min(wholeNumber(field, 'percent'), 100) / 100,
    delayMs: field('delayMs') === '' ? null : wholeNumber(field, 'delayMs'),
  }
}

function turnSwitchesOf({ sandbox }: Controls, field: Field): Promise<Switches> {
  return turnSwitches(sandbox, {
    paused: field('paused') === 'on',
    drop: field('drop')
      .split(/[\s,]+/)
      .filter((type) => type !== ''),
    delaySeconds: wholeNumber(field, 'delaySeconds'),
    duplicates: wholeNumber(field, 'duplicates'),
    reorder: wholeNumber(field, 'reorder'),
    eventSecond: field('sameSecond') === 'on' ? secondsOf(sandbox.clock()) : null,
    signWith: field('signWith') as Switches['signWith'],
    refunds: field('refunds') as Switches['refunds'],
    amountLimits: field('amountLimits') === 'on',
  })
}

function importGiven({ sandbox, clock }: Controls, field: Field): Promise<void> {
  try {
    return importScenario(sandbox, clock, JSON.parse(field('scenario')))
  } catch {
    throw validationFailed(['scenario: must be a file that was saved here'])
  }
}
