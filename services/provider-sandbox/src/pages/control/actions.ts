import { validationFailed } from '@plinth/kit'
import { FAULT_KINDS, type FaultKind } from '../../api/faults/fault.ts'
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
} from '../../controls/actions.ts'
import type { Controls } from '../../controls/controls.ts'
import { addEndpoint, removeEndpoint, resendEvent } from '../../controls/deliveries.ts'
import { importScenario, resetSandbox, type Scenario } from '../../controls/scenario.ts'
import {
  addFault,
  advanceClock,
  removeFault,
  resetClock,
  turnSwitches,
} from '../../controls/state.ts'
import { type Sandbox, secondsOf } from '../../state/sandbox.ts'
import { REFUND_WAYS, SIGNING_WAYS, type Switches } from '../../state/switches.ts'

type Field = (name: string) => string

/** Where on the page an action belongs, and what it does with the fields of its form. */
type PageAction = {
  part: string
  run: (controls: Controls, field: Field) => Promise<unknown> | unknown
}

const UNITS: Record<string, number> = { seconds: 1, minutes: 60, hours: 3600, days: 86_400 }

/** An action on the one object that a button names. */
const onObject = (
  part: string,
  act: (sandbox: Sandbox, id: string) => Promise<unknown>,
): PageAction => ({ part, run: ({ sandbox }, field) => act(sandbox, field('id')) })

export const PAGE_ACTIONS: Record<string, PageAction> = {
  pay: onObject('sessions', (sandbox, id) => payWithCard(sandbox, id)),
  decline: onObject('sessions', (sandbox, id) => payWithCard(sandbox, id, DECLINED_CARD)),
  'bank-debit': onObject('sessions', (sandbox, id) => debitSession(sandbox, id)),
  settle: onObject('sessions', settleDebit),
  fail: onObject('sessions', failDebit),
  expire: onObject('sessions', expireSessionOf),

  'settle-refund': onObject('refunds', settleRefundOf),
  'fail-refund': onObject('refunds', failRefundOf),
  'cancel-refund': onObject('refunds', cancelRefundOf),

  resend: onObject('deliveries', resendEvent),
  flush: { part: 'deliveries', run: ({ deliverer }) => deliverer.flush() },
  'remove-endpoint': onObject('endpoints', removeEndpoint),
  'add-endpoint': {
    part: 'endpoints',
    run: ({ sandbox }, field) => addEndpoint(sandbox, givenEndpoint(field)),
  },
  switches: {
    part: 'switches',
    run: ({ sandbox }, field) => turnSwitches(sandbox, givenSwitches(sandbox, field)),
  },

  'remove-fault': onObject('faults', (sandbox, id) => removeFault(sandbox, Number(id))),
  'add-fault': {
    part: 'faults',
    run: ({ sandbox }, field) => addFault(sandbox, givenFault(field)),
  },
  release: { part: 'faults', run: ({ held }) => held.release() },

  'advance-clock': {
    part: 'clock',
    run: (controls, field) =>
      advanceClock(controls, wholeNumber(field, 'amount') * (UNITS[field('unit')] ?? 1)),
  },
  'reset-clock': { part: 'clock', run: resetClock },
  'import-scenario': {
    part: 'scenario',
    run: ({ sandbox, clock }, field) => importScenario(sandbox, clock, givenScenario(field)),
  },
  reset: { part: 'scenario', run: ({ sandbox, clock }) => resetSandbox(sandbox, clock) },
}

function wholeNumber(field: Field, name: string, most = 999_999): number {
  const text = field(name)
  if (/^\d{1,6}$/.test(text) && Number(text) <= most) return Number(text)
  throw validationFailed([`${name}: must be a whole number up to ${most}`])
}

function oneOf<const T extends string>(field: Field, name: string, options: readonly T[]): T {
  const found = options.find((option) => option === field(name))
  if (found === undefined) throw validationFailed([`${name}: must be one of the list`])
  return found
}

function givenEndpoint(field: Field) {
  if (!/^https?:\/\//.test(field('url')) || field('secret') === '')
    throw validationFailed(['url, secret: an address and its secret are needed'])
  return { url: field('url'), secret: field('secret') }
}

function givenFault(field: Field) {
  return {
    kind: oneOf(field, 'kind', Object.keys(FAULT_KINDS) as FaultKind[]),
    route: field('route') || '*',
    times: field('times') === '' ? null : wholeNumber(field, 'times'),
    probability: wholeNumber(field, 'percent', 100) / 100,
    delayMs: field('delayMs') === '' ? null : wholeNumber(field, 'delayMs'),
  }
}

function givenSwitches(sandbox: Sandbox, field: Field): Partial<Switches> {
  return {
    paused: field('paused') === 'on',
    drop: field('drop')
      .split(/[\s,]+/)
      .filter((type) => type !== ''),
    delaySeconds: wholeNumber(field, 'delaySeconds'),
    duplicates: wholeNumber(field, 'duplicates', 100),
    reorder: wholeNumber(field, 'reorder'),
    eventSecond: field('sameSecond') === 'on' ? secondsOf(sandbox.clock()) : null,
    signWith: oneOf(field, 'signWith', SIGNING_WAYS),
    refunds: oneOf(field, 'refunds', REFUND_WAYS),
    amountLimits: field('amountLimits') === 'on',
  }
}

function givenScenario(field: Field): Scenario {
  try {
    return JSON.parse(field('scenario'))
  } catch {
    throw validationFailed(['scenario: must be a file that was saved here'])
  }
}
