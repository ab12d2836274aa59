import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { HOST_NAME } from '@plinth/kit/files'
import { armFailPoint } from '@plinth/kit/runtime'
import { sampleFiles, spawnService } from '@plinth/kit/testing'
import {
  apiAt,
  filesIn,
  KEY,
  PNG,
  startStorageKey,
  temporaryFolder,
  upload,
} from './start-storage-key.ts'

const MAIN = join(import.meta.dirname, '../src/main.ts')
const ONLY_IN_ALL = { tags: ['all'] }

async function spawn(t: Parameters<typeof spawnService>[0], root: string, failPoint = '') {
  const service = await spawnService(t, MAIN, {
    STORAGE_KEY_PORT: '0',
    STORAGE_KEY_HOST: '127.0.0.1',
    STORAGE_KEY_ROOT: root,
    STORAGE_KEY_API_KEY: KEY,
    FAIL_POINT: failPoint,
  })
  return { ...service, keyed: apiAt(service.baseUrl) }
}

/** Each step of an upload, and whether its file already has its final name by then. */
const STEPS = [
  ['upload:opened', false],
  ['upload:write', false],
  ['upload:received', false],
  ['upload:examined', false],
  ['upload:before-fsync', false],
  ['upload:after-fsync', false],
  ['publish:named', true],
  ['upload:published', true],
] as const

/** A small file stays in memory until it is complete; a large one is written as it arrives. */
const UPLOADS = [
  { size: 'small', content: sampleFiles.png, without: [] as string[] },
  { size: 'large', content: pngOf(1_000_000), without: ['upload:opened'] },
]
const EVERY_STEP = UPLOADS.flatMap(({ size, content, without }) =>
  STEPS.filter(([step]) => !without.includes(step)).map(([step, named]) => ({
    size,
    content,
    step,
    named,
  })),
)

function pngOf(bytes: number): Buffer {
  return Buffer.concat([PNG, Buffer.alloc(bytes, 'plinth ')])
}

describe('kill -9 during an upload, then a restart', () => {
  for (const { size, content, step, named } of EVERY_STEP)
    test(
      `of a ${size} file at ${step}: acknowledged files are complete, nothing is left over`,
      step === 'publish:named' ? {} : ONLY_IN_ALL,
      async (t) => {
        const { api, root } = await startStorageKey(t)
        const { body: acknowledged } = await upload(api, { content })
        const doomed = await spawn(t, root, `${step}=kill`)
        await assert.rejects(upload(doomed.keyed, { content }))
        await doomed.ended

        const restarted = await startStorageKey(t, { STORAGE_KEY_ROOT: root })
        const { body: names } = await restarted.api.get('/file/list')

        // If killed between the rename and the reply, the file exists although the client got no reply.
        assert.equal(names.length, named ? 2 : 1)
        assert.ok(names.includes(acknowledged))
        for (const name of names) assert.ok(readFileSync(join(root, name)).equals(content))
        assert.deepEqual(filesIn(root).incoming, [])
      },
    )

  test('an interrupted deletion is complete', async (t) => {
    const root = temporaryFolder(t)
    writeFileSync(join(root, 'a.png'), 'x')
    const doomed = await spawn(t, root, 'remove:unlinked=kill')
    await assert.rejects(doomed.keyed.delete('/file/a.png'))
    await doomed.ended

    const restarted = await startStorageKey(t, { STORAGE_KEY_ROOT: root })

    assert.deepEqual((await restarted.api.get('/file/list')).body, [])
  })
})

describe('a failing step', () => {
  for (const { size, content, step } of EVERY_STEP.filter(
    ({ step }) => step !== 'upload:published',
  ))
    for (const [failure, status] of [
      ['ENOSPC', 507],
      ['EDQUOT', 507],
      ['EIO', 500],
      ['EROFS', 503],
      ['EMFILE', 503],
      ['ENFILE', 503],
    ] as const)
      test(`${failure} at ${step} of a ${size} file is ${status}, reveals no path and leaves nothing`, async (t) => {
        const { api, root } = await startStorageKey(t)
        armFailPoint({ NODE_ENV: 'test', FAIL_POINT: `${step}=${failure}` })
        t.after(() => armFailPoint({}))

        const reply = await upload(api, { content })

        assert.equal(reply.status, status)
        assert.equal(reply.headers.get('retry-after'), status === 503 ? '5' : null)
        assert.ok(!reply.bytes.includes(root))
        assert.deepEqual(filesIn(root), { stored: [], incoming: [] })
        assert.equal((await api.get('/file/list')).bytes.toString(), '[]')
      })
})

describe('startup', () => {
  test('removes what a crash left behind', async (t) => {
    const root = temporaryFolder(t)
    mkdirSync(join(root, '.incoming'), { recursive: true })
    writeFileSync(join(root, '.incoming', `999999999.${HOST_NAME}.x.part`), 'half a file')

    await startStorageKey(t, { STORAGE_KEY_ROOT: root })

    assert.deepEqual(filesIn(root), { stored: [], incoming: [] })
  })

  test('keeps uploads that another host is receiving into the same folder', async (t) => {
    const root = temporaryFolder(t)
    const incoming = join(root, '.incoming')
    mkdirSync(incoming)
    writeFileSync(join(incoming, '999999999.other.x.part'), 'half a file')

    await startStorageKey(t, { STORAGE_KEY_ROOT: root })

    assert.deepEqual(filesIn(root).incoming, ['999999999.other.x.part'])
  })

  test('creates the folder when it is missing', async (t) => {
    const root = join(temporaryFolder(t), 'a', 'b')

    const service = await startStorageKey(t, { STORAGE_KEY_ROOT: root })

    assert.equal((await upload(service.api)).status, 200)
  })
})
