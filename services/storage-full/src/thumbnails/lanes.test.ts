import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atItsPace, createLanes } from './lanes.ts'

const MANY = 40

test('work that waits in the slow lane keeps none out of the quick one', async () => {
  const { pages } = createLanes()
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const turns: string[] = []
  const slow = Array.from({ length: MANY }, (_, number) =>
    atItsPace(pages, `attacker ${number}`, async (pace, drawing) => {
      turns.push(pace)
      return drawing('attacker', async () => {
        if (pace === 'quick') return 'late' as const
        await released
        return 'slow'
      })
    }),
  )

  const quick = await atItsPace(pages, 'patient', (pace, drawing) =>
    drawing('patient', async () => pace),
  )

  assert.equal(quick, 'quick')
  release()
  assert.deepEqual(new Set(await Promise.all(slow)), new Set(['slow']))
  assert.equal(turns.filter((pace) => pace === 'quick').length, MANY)
})

test('what is late in the slow lane as well is late', async () => {
  const { pictures } = createLanes()

  assert.equal(await atItsPace(pictures, 'user', async () => 'late' as const), 'late')
})
