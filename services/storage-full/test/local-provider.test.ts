import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { createLocalProvider } from '../src/locations/providers/local.ts'
import { codesOf, providerSuite, sourceFile } from './provider-suite.ts'

const UNAVAILABLE = { code: 'STORAGE_UNAVAILABLE', status: 503 }

const folder = await mkdtemp(join(tmpdir(), 'providers-'))
after(() => rm(folder, { recursive: true, force: true }))
const spoolFolder = join(folder, '.incoming')
await mkdir(spoolFolder)

providerSuite('a folder', {
  open: (prefix) => createLocalProvider({ root: folder, path: 'deep/store', prefix, spoolFolder }),
  folder,
})

describe('a folder that fails', () => {
  for (const [what, root] of [
    ['its root is missing', 'no-root'],
    ['it is the empty mount point of its disk', 'mount-point'],
  ] as const)
    test(`is unavailable when ${what}, and nothing is created in its place`, async () => {
      await mkdir(join(folder, 'mount-point/store'), { recursive: true })
      const place = { root: join(folder, root), path: 'store', prefix: 'own', spoolFolder }
      const provider = createLocalProvider(place)
      const source = await sourceFile(folder, randomBytes(9))
      const before = await readdir(folder, { recursive: true })

      const outcomes = await Promise.allSettled([
        provider.put('own/b', source),
        provider.open('own/b'),
        provider.sizeOf('own/b'),
        provider.remove('own/b'),
        provider.check(),
        Array.fromAsync(provider.list('own')),
      ])

      assert.deepEqual(codesOf(outcomes), new Set(['STORAGE_UNAVAILABLE']))
      const [failed] = (await provider.probe()).filter(({ passed }) => !passed)
      assert.match(failed?.message ?? '', /mount/)
      assert.deepEqual(await readdir(folder, { recursive: true }), before)
    })

  test('never names the path in an error', async () => {
    const provider = createLocalProvider({ root: folder, path: 'unmounted', spoolFolder })

    const error = await provider.check().catch((caught) => caught)

    assert.doesNotMatch(`${error.message} ${error.cause.message}`, /unmounted|tmp/)
  })

  test('is not created below a missing root', async () => {
    const provider = createLocalProvider({
      root: join(folder, 'no-root'),
      path: 'store',
      spoolFolder,
    })

    await assert.rejects(provider.prepare(), UNAVAILABLE)
  })

  test('reports in its probe that the folder cannot be written', async () => {
    // Not even the superuser may write here.
    const steps = await createLocalProvider({
      root: '/proc/self',
      path: 'task',
      spoolFolder,
    }).probe()

    assert.deepEqual(
      steps.map(({ name, passed }) => [name, passed]),
      [
        ['folder', true],
        ['contents', true],
        ['write', false],
      ],
    )
  })
})
