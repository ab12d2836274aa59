import assert from 'node:assert/strict'
import { test } from 'node:test'
import { coalesce } from './coalesce.ts'

test('calls made during a run share the next run, which starts after all of them', async () => {
  const gates: PromiseWithResolvers<number>[] = []
  const call = coalesce(() => {
    const gate = Promise.withResolvers<number>()
    gates.push(gate)
    return gate.promise
  })
  const first = call()
  const [second, third] = [call(), call()]
  assert.equal(gates.length, 1)

  gates[0]?.resolve(1)
  assert.equal(await first, 1)
  while (gates.length < 2) await Promise.resolve()
  const fourth = call()
  gates[1]?.resolve(2)

  assert.deepEqual(await Promise.all([second, third]), [2, 2])
  while (gates.length < 3) await Promise.resolve()
  gates[2]?.resolve(3)
  assert.equal(await fourth, 3)
})

test('a failed run rejects only the calls that waited for it', async () => {
  let runs = 0
  const call = coalesce(async () => {
    runs += 1
    if (runs === 1) throw new Error('disk')
    return runs
  })

  const [first, second] = [call(), call()]

  await assert.rejects(first, /disk/)
  assert.equal(await second, 2)
  assert.equal(await call(), 3)
})
