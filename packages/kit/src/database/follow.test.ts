import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../test/until.ts'
import { createLogger } from '../logging.ts'
import { followDatabase } from './follow.ts'

test('what cannot be read is logged once and its end once, and what was read last applies meanwhile', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const lines: string[] = []
  const log = createLogger('follow', 'info', {
    write: (line: string) => void lines.push(JSON.parse(line).msg),
  })
  t.after(() => log.outages.close())
  let [stored, applied, isDown, readings] = ['closed', '', false, 0]
  const read = async () => {
    readings += 1
    if (isDown) throw new Error('The database is away.')
    return stored
  }
  const apply = (value: string) => {
    applied = value
  }
  const { refresh, stop } = followDatabase({ name: 'the registration', log, read, apply })
  t.after(stop)
  const seconds = async (count: number) => {
    for (const end = readings + count; readings < end; ) {
      const before = readings
      await until(() => {
        t.mock.timers.tick(1000)
        return readings > before
      })
    }
  }

  await refresh()
  stored = 'open'
  isDown = true
  await seconds(3)
  const during = applied
  isDown = false
  await seconds(1)
  await until(() => applied === 'open' && lines.length > 1)

  assert.equal(during, 'closed')
  const message = 'the registration could not be read'
  assert.deepEqual(lines, [message, `over: ${message}`])
})
