import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLogger } from '@plinth/kit/logging'
import { systemClock } from '@plinth/kit/runtime'
import { until } from '../../test/until.ts'
import { keepHistory } from './health/history.ts'
import { keepActivity } from './home/activity.ts'

const KEPT = {
  'the activity of the last day': { keep: keepActivity, everySeconds: 300 },
  'the metrics of the last hour': { keep: keepHistory, everySeconds: 10 },
}

for (const [name, { keep, everySeconds }] of Object.entries(KEPT))
  test(`readings that fail, and their end, are logged: ${name}`, async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    const lines: { msg: string; err?: Error; failures?: number }[] = []
    const write = (line: string) => void lines.push(JSON.parse(line))
    const log = createLogger('test', 'info', { write })
    let readings = 0
    const read = async () => {
      readings += 1
      if (readings <= 2) throw new Error('no such column')
      return []
    }
    const kept = keep(read, systemClock, log)
    t.after(() => {
      kept.stop()
      log.outages.close()
    })

    for (const reading of [1, 2, 3]) {
      t.mock.timers.tick(everySeconds * 1000)
      await until(() => readings === reading)
    }
    await until(() => lines.length === 2)

    const message = `${name} could not be read`
    assert.deepEqual(
      lines.map(({ msg, err, failures }) => [msg, err?.message, failures]),
      [
        [message, 'no such column', undefined],
        [`over: ${message}`, undefined, 2],
      ],
    )
  })
