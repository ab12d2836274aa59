import { describe, test } from 'node:test'
import { armFailPoint } from '@plinth/kit/runtime'
import { propertyRuns } from '@plinth/kit/testing'
import fc from 'fast-check'
import { checkInvariants, checkSettled } from './invariants.ts'
import { settle, steps } from './model-steps.ts'
import { engines } from './start-payments.ts'
import { newStory, type Story, startWorld } from './world.ts'

/** How many random lives on each engine; set MODEL_RUNS=10000 for more. */
const RUNS = { sqlite: propertyRuns(12), postgres: propertyRuns(6) }

const LIFE = { minLength: 5, maxLength: 30, size: 'max' } as const
const FIRST = { step: 'create', attempt: 1 }

const step = fc.oneof(
  fc.record({ step: fc.constant('create'), attempt: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ step: fc.constantFrom('pay', 'deliver'), which: fc.constant(0) }),
  fc.record({
    step: fc.constantFrom('pay', 'decline', 'debit', 'settle', 'fail', 'expire'),
  }),
  fc.record({
    step: fc.constant('refund'),
    reference: fc.constantFrom('r1', 'r2', 'r3'),
    amount: fc.constantFrom(null, 100, 400, 700, 1000),
  }),
  fc.record({ step: fc.constant('restart') }),
  fc.record({ step: fc.constant('die-in-create'), attempt: fc.integer({ min: 1, max: 3 }) }),
  fc.record({
    step: fc.constant('die-in-refund'),
    reference: fc.constantFrom('r1', 'r2', 'r3'),
    amount: fc.constantFrom(null, 100, 400),
  }),
  fc.record({ step: fc.constantFrom('succeed-refund', 'fail-refund', 'cancel-refund') }),
  fc.record({ step: fc.constant('dashboard-refund'), amount: fc.constantFrom(100, 500) }),
  fc.record({
    step: fc.constant('refunds-go'),
    way: fc.constantFrom('succeed', 'pending', 'requires-action'),
  }),
  fc.record({
    step: fc.constantFrom('deliver', 'deliver-again', 'drop'),
    which: fc.nat({ max: 20 }),
  }),
  fc.record({
    step: fc.constant('crash'),
    point: fc.constantFrom(
      'checkout:reserved',
      'checkout:after-provider-call',
      'refund:reserved',
      'refund:after-provider-call',
      'webhook:applied',
      'webhook:committed',
    ),
  }),
  fc.record({
    step: fc.constant('fault'),
    kind: fc.constantFrom(
      'reset-after',
      'error-before',
      'error-instead',
      'error-after',
      'rate-limit',
      'in-use',
      'unauthorized',
      'html-after',
      'truncated',
    ),
  }),
  fc.record({ step: fc.constantFrom('outage', 'outage-over', 'look', 'poll', 'a-day-passes') }),
)

for (const engine of engines)
  describe(`random lives of a payment on ${engine.name}`, engine.options, () => {
    test("keep the invariants of money after every step, and end as in the provider's books", {
      tags: ['property'],
    }, async (t) => {
      t.after(() => armFailPoint({}))
      const world = await startWorld(t, await engine.freshUrl(t))
      const numRuns = Number(process.env.MODEL_RUNS ?? RUNS[engine.name])
      let taken = 0
      await fc.assert(
        fc.asyncProperty(fc.array(step, LIFE), async (life) => {
          const story: Story = await newStory(world)
          for (const next of [FIRST, ...life]) {
            await steps[next.step]?.(story, next)
            await checkInvariants(story)
            taken += 1
          }
          await settle(story)
          await checkSettled(story)
        }),
        { numRuns, endOnFailure: process.env.CI === undefined },
      )
      t.diagnostic(`${numRuns} lives, ${taken} steps`)
    })
  })
