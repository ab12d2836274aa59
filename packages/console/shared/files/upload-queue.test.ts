import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Call } from '../api/api.ts'
import { createUploadQueue } from './upload-queue.ts'

test('a file that is cancelled while it is checked is not sent', async () => {
  const sent: Call[] = []
  const send = async (call: Call) => {
    sent.push(call)
    return { status: 201, ok: true, headers: {}, body: 'a.pdf', content: new Blob() }
  }
  const queue = createUploadQueue({ send, onStored: () => {} })
  const file = new File(['%PDF-1.7'], 'a.pdf', { type: 'application/pdf' })
  const adding = queue.add([file])
  const cancelling = queue.uploads.subscribe(([upload]) => {
    if (upload?.state === 'waiting' && !upload.verdict) queue.cancel(upload.id)
  })

  await adding

  cancelling()
  assert.deepEqual(sent, [])
  assert.equal(queue.uploads.value[0]?.state, 'cancelled')
})
