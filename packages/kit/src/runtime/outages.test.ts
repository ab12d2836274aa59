import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createLogger } from '../logging.ts'
import { Outages } from './outages.ts'

function outagesFor() {
  const lines: string[] = []
  const log = createLogger('test', 'info', { write: (line: string) => lines.push(line) })
  let now = 0
  const outages = new Outages(log, () => now)
  return {
    outages,
    fail: (times: number) => {
      for (let index = 0; index < times; index++)
        outages.failed({ state: 'AWAY', message: 'It is away.', err: new Error(`cause ${index}`) })
    },
    pass: (seconds: number) => {
      now += seconds * 1000
      outages.review()
    },
    /** The lines since the last call. */
    read: () =>
      lines.splice(0).map((line) => {
        const { level, msg, failures, seconds, err } = JSON.parse(line)
        return { level, msg, failures, seconds, cause: err?.message }
      }),
  }
}

const line = (level: number, msg: string, rest = {}) => ({
  ...{ level, msg, failures: undefined, seconds: undefined, cause: undefined },
  ...rest,
})

describe('an outage', () => {
  test('of a thousand failures is one line at its start and one at its end', () => {
    const { fail, pass, read } = outagesFor()

    fail(1000)
    const start = read()
    pass(9)
    const meanwhile = read()
    pass(1)

    assert.deepEqual(start, [line(50, 'It is away.', { cause: 'cause 0' })])
    assert.deepEqual(meanwhile, [])
    assert.deepEqual(read(), [line(30, 'over: It is away.', { failures: 1000, seconds: 0 })])
  })

  test('that lasts is counted once a minute, with the latest cause', () => {
    const { fail, pass, read, outages } = outagesFor()
    for (let second = 0; second < 130; second += 5) {
      fail(10)
      pass(5)
    }

    const lines = read()
    outages.close()

    assert.deepEqual(
      lines.map(({ failures }) => failures),
      [undefined, 120, 240],
    )
    assert.deepEqual(
      lines[1],
      line(50, 'It is away.', { failures: 120, seconds: 55, cause: 'cause 9' }),
    )
    assert.equal(read()[0]?.failures, 260)
  })

  test('of a single failure is a single line, and a later one is logged anew', () => {
    const { fail, pass, read } = outagesFor()

    fail(1)
    pass(60)
    fail(1)

    assert.deepEqual(
      read().map(({ level, failures }) => [level, failures]),
      [
        [50, undefined],
        [50, undefined],
      ],
    )
  })

  test('of something that works again ends at once', () => {
    const { outages, fail, read } = outagesFor()
    fail(3)

    outages.ended('AWAY')
    outages.ended('ANOTHER')

    assert.deepEqual(
      read().map(({ msg, failures }) => [msg, failures]),
      [
        ['It is away.', undefined],
        ['over: It is away.', 3],
      ],
    )
  })
})
