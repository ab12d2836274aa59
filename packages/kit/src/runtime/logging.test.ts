import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createLogger } from './logging.ts'

describe('the log', () => {
  test('never shows a secret, at the top or inside', () => {
    const lines: string[] = []
    const log = createLogger('test', 'info', { write: (line: string) => lines.push(line) })

    log.info({ password: 'hunter2', body: { refreshToken: 'hunter2' } }, 'login')
    log.info({ request: { headers: { authorization: 'hunter2', 'x-api-key': 'hunter2' } } }, 'in')

    assert.equal(lines.length, 2)
    assert.doesNotMatch(lines.join(''), /hunter2/)
    assert.match(lines.join(''), /\[redacted\]/)
  })
})
