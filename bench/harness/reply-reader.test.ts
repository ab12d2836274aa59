import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createReplyReader } from './reply-reader.ts'

const WITH_LENGTH = 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello'
const CHUNKED = 'HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n'
const EMPTY_CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'
const EMPTY = 'HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n'

test('finds every reply, however the bytes arrive', () => {
  const bytes = Buffer.from(WITH_LENGTH + CHUNKED + EMPTY + EMPTY_CHUNKED + WITH_LENGTH)
  for (const size of [1, 2, 3, 7, 50, bytes.length]) {
    const statuses: number[] = []
    const read = createReplyReader((status) => statuses.push(status))

    for (let at = 0; at < bytes.length; at += size) read(bytes.subarray(at, at + size))

    assert.deepEqual(statuses, [200, 201, 404, 200, 200], `in pieces of ${size}`)
  }
})
