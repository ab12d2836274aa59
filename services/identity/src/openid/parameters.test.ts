import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hasRepeated } from './parameters.ts'

describe('parameters', () => {
  test('are repeated if a name other than resource occurs twice, with or without a value', () => {
    const repeated = (query: string) => hasRepeated(new URLSearchParams(query))

    for (const query of ['a=1&b=2&a=1', 'a&a', 'a=&%61=', '__proto__=1&__proto__=2'])
      assert.equal(repeated(query), true, query)
    for (const query of ['', 'a=1&b=2', 'resource=x&resource=x', 'a=1&A=1'])
      assert.equal(repeated(query), false, query)
  })

  test('flood: thousands of names in one request do not keep others waiting', () => {
    const names = Array.from({ length: 5_000 }, (_, n) => n.toString(36))
    const given = new URLSearchParams(names.join('&'))
    const measure = () => {
      const begun = process.threadCpuUsage()
      assert.equal(hasRepeated(given), false)
      const { user, system } = process.threadCpuUsage(begun)
      return (user + system) / 1_000
    }

    const fastest = Math.min(...Array.from({ length: 5 }, measure))

    assert.ok(fastest < 30, `${fastest} ms`)
  })
})
