import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { type RequestFiles, requestFiles } from './architecture/request-files.ts'

/** How many files outside the kit a reader has to open to follow a request. */
const MOST_FILES = { login: 13, checkout: 25, webhook: 16, refund: 18 }

describe('a request passes through few files:', () => {
  let requests: RequestFiles[]
  before(async () => {
    requests = await requestFiles()
  })

  for (const [name, most] of Object.entries(MOST_FILES))
    test(`${name}: at most ${most}`, () => {
      const { own } = requests.find(({ request }) => request === name) ?? { own: [] }

      assert.ok(own.length > 0)
      assert.ok(own.length <= most, own.join('\n'))
    })
})
