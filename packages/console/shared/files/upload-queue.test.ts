import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Reply } from '../api/api.ts'
import { createUploadQueue, type Upload } from './upload-queue.ts'

function startQueue() {
  const sent: Upload[] = []
  const send = async (upload: Upload): Promise<Reply<string>> => {
    sent.push(upload)
    return { status: 201, ok: true, headers: {}, body: 'a.pdf', content: new Blob() }
  }
  return { sent, queue: createUploadQueue({ send, onStored: () => {} }) }
}

const pdf = (name: string) => ({
  file: new File(['%PDF-1.7'], name, { type: 'application/pdf' }),
})

test('a file that is cancelled while it is checked is not sent', async () => {
  const { sent, queue } = startQueue()
  const adding = queue.add([pdf('a.pdf')])
  const cancelling = queue.uploads.subscribe(([upload]) => {
    if (upload?.state === 'waiting' && !upload.verdict) queue.cancel(upload.id)
  })

  await adding

  cancelling()
  assert.deepEqual(sent, [])
  assert.equal(queue.uploads.value[0]?.state, 'cancelled')
})

test('a file cancelled and cleared while it is checked does not hold up the others', async () => {
  const { sent, queue } = startQueue()
  const adding = queue.add([pdf('a.pdf'), pdf('b.pdf')])
  const clearing = queue.uploads.subscribe(([upload]) => {
    if (upload?.file.name === 'a.pdf' && upload.state === 'waiting') queue.cancel(upload.id)
    if (upload?.state === 'cancelled') queue.clear()
  })

  await adding

  clearing()
  assert.deepEqual(
    sent.map(({ file }) => file.name),
    ['b.pdf'],
  )
})

for (const [moment, isReached] of Object.entries({
  'before the first is checked': () => true,
  'while the first is checked': (shown: number) => shown > 0,
}))
  test(`files that are forgotten ${moment} are neither sent nor shown`, async () => {
    const { sent, queue } = startQueue()
    const adding = queue.add([pdf('a.pdf'), pdf('b.pdf')])
    let isForgotten = false
    const forgetting = queue.uploads.subscribe(({ length }) => {
      if (isForgotten || !isReached(length)) return
      isForgotten = true
      queue.forget()
    })

    await adding

    forgetting()
    assert.deepEqual(sent, [])
    assert.deepEqual(queue.uploads.value, [])
  })
