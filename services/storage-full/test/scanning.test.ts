import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, type TestContext, test } from 'node:test'
import { Upload } from 'tus-js-client'
import { loadConfig } from '../src/config.ts'
import { scanStream } from '../src/scanning/clamd.ts'
import { scannerFindings } from '../src/scanning/doctor.ts'
import { type Manner, startFakeClamd } from './fake-clamd.ts'
import { replace } from './replace-file.ts'
import { engines, startStorage, upload } from './start-storage.ts'
import { base64, fileIdOf, locationOf, metadata, offsetOf, textOf, tusFor } from './tus-client.ts'

const CLEAN = textOf(300_000)
const INFECTED = Buffer.concat([textOf(150_000), Buffer.from('VIRUS'), textOf(150_000)])
/** For a scanner that never answers. */
const IMPATIENT = { STORAGE_FULL_SCAN_TIMEOUT_SECONDS: '1' }
const text = (bytes: Buffer) => ({ name: 'a.txt', type: 'text/plain', bytes })

for (const engine of engines)
  describe(`scanning, on ${engine.name}`, engine.options, () => {
    const start = async (t: TestContext, env: Record<string, string> = {}) => {
      const clamd = await startFakeClamd(t)
      const service = await startStorage(t, {
        STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t),
        STORAGE_FULL_SCAN_URL: clamd.url,
        ...env,
      })
      const tus = tusFor(service.api, service.user)
      const list = async () => (await service.api.get('/file/list', { token: service.user })).body
      const refusals = async () =>
        (await service.api.get('/api/audit?event=FILE_REFUSED', { token: service.admin })).body
          .content
      return { ...service, clamd, tus, list, refusals }
    }

    test('a form upload goes through the scanner byte for byte before it is visible', async (t) => {
      const { api, user, clamd } = await start(t)

      const large = await upload(api, user, text(CLEAN))
      const small = await upload(api, user)

      assert.deepEqual([large.status, small.status], [201, 201])
      assert.deepEqual(clamd.commands, ['zINSTREAM', 'zINSTREAM'])
      assert.ok(clamd.scanned[0]?.equals(CLEAN))
      assert.equal(clamd.scanned[1]?.length, small.body.size)
    })

    test('an infected form upload is 400 FILE_INFECTED with its signature, nothing is kept, and the audit says so', async (t) => {
      const { api, user, list, refusals, root } = await start(t)

      const reply = await upload(api, user, text(INFECTED))

      assert.deepEqual([reply.status, reply.body.code], [400, 'FILE_INFECTED'])
      assert.equal(reply.body.signature, 'Fake.Virus-1')
      assert.deepEqual(await list(), [])
      assert.deepEqual(await objectsIn(root), [])
      const [entry, ...more] = await refusals()
      assert.deepEqual(more, [])
      const { actor, result, reason } = entry
      assert.deepEqual([actor, result, reason], ['user', 'REFUSED', 'Fake.Virus-1'])
    })

    test('an infected tus upload is 400 at its last byte; upload, bytes and reservation are gone', async (t) => {
      const { api, user, tus, list, refusals, root } = await start(t)
      const location = locationOf(await tus.create({ length: INFECTED.length }))
      await tus.patch(location, 0, INFECTED.subarray(0, 200_000))

      const last = await tus.patch(location, 200_000, INFECTED.subarray(200_000))
      const state = await tus.head(location)
      const usage = await api.get('/file/usage', { token: user })

      assert.deepEqual([last.status, last.body.code], [400, 'FILE_INFECTED'])
      assert.equal(last.body.signature, 'Fake.Virus-1')
      assert.equal(state.status, 404)
      assert.deepEqual([usage.body.uploadingFiles, usage.body.uploadingBytes], [0, 0])
      assert.deepEqual(await list(), [])
      assert.deepEqual(await objectsIn(root), [])
      assert.equal((await refusals()).length, 1)
    })

    test('an infected tus upload in one request is 400, and nothing is left of it', async (t) => {
      const { api, user, tus } = await start(t)

      const reply = await tus.create({ length: INFECTED.length, body: INFECTED })
      const uploads = await api.get('/file/uploads', { token: user })

      assert.deepEqual([reply.status, reply.body.code], [400, 'FILE_INFECTED'])
      assert.deepEqual(uploads.body, [])
    })

    const FAULTS: [string, Manner][] = [
      ['is silent', 'hangs'],
      ['reads nothing', 'reads nothing'],
      ['closes at once', 'closes at once'],
      ['closes in the middle', 'closes in the middle'],
      ['closes without an answer', 'says nothing and closes'],
      ['reports an error', { answers: 'INSTREAM size limit exceeded. ERROR\0' }],
      ['answers nonsense', { answers: 'OK\0' }],
      ['answers without an end', { answers: 'stream: OK' }],
      ['answers two things', { answers: 'stream: OK\0stream: X FOUND\0' }],
      ['answers without end', { answers: 'x'.repeat(100_000) }],
      ['says OK before it has everything', { answersEarly: 'stream: OK\0' }],
      [
        'is full before it has everything',
        { answersEarly: 'INSTREAM size limit exceeded. ERROR\0' },
      ],
    ]
    test('a scanner that hangs, closes, lies or talks nonsense is 503 SCANNER_UNAVAILABLE, and nothing is stored', async (t) => {
      const { api, user, clamd, list, root } = await start(t, IMPATIENT)
      // So many pieces that an early answer comes before the last.
      const bytes = textOf(2 * 1024 * 1024)

      for (const [name, manner] of FAULTS) {
        clamd.behave(manner)
        const reply = await upload(api, user, text(bytes))
        assert.deepEqual([reply.status, reply.body.code], [503, 'SCANNER_UNAVAILABLE'], name)
        assert.ok(Number(reply.headers.get('retry-after')) > 0, name)
      }
      await clamd.stop()
      const unreachable = await upload(api, user)

      assert.equal(unreachable.body.code, 'SCANNER_UNAVAILABLE')
      assert.deepEqual(await list(), [])
      assert.deepEqual(await objectsIn(root), [])
    })

    test('a scanner that finds something before it has everything is believed', async (t) => {
      const { api, user, clamd } = await start(t)
      clamd.behave({ answersEarly: 'stream: Early\u0007 FOUND\0' })

      const replies = []
      for (let round = 0; round < 10; round++)
        replies.push(await upload(api, user, text(textOf(2 * 1024 * 1024))))

      for (const { status, body } of replies)
        assert.deepEqual([status, body.signature], [400, 'Early?'])
    })

    test('a long signature is cut at 200 characters', async (t) => {
      const { api, user, clamd } = await start(t)
      clamd.behave({ answers: `stream: ${'x'.repeat(300)} FOUND\0` })

      const { body } = await upload(api, user)

      assert.equal(body.signature, 'x'.repeat(200))
    })

    test('with STORAGE_FULL_SCAN_REQUIRED=false a file is accepted without a verdict, but not when it is infected', async (t) => {
      const env = {
        ...IMPATIENT,
        STORAGE_FULL_SCAN_REQUIRED: 'false',
        STORAGE_FULL_SCAN_MAX_BYTES: '400000',
      }
      const { api, user, clamd, tus } = await start(t, env)

      const infected = await upload(api, user, text(INFECTED))
      const large = await upload(api, user, text(textOf(400_001)))
      const largeTus = await tus.create({ length: 400_001, body: textOf(400_001) })
      clamd.behave('hangs')
      const silent = await upload(api, user)
      await clamd.stop()
      const unreachable = await upload(api, user, text(INFECTED))

      assert.equal(infected.status, 400)
      assert.deepEqual([large.status, largeTus.status], [201, 201])
      assert.deepEqual([silent.status, unreachable.status], [201, 201])
    })

    test('a tus upload waits for the scanner: HEAD and an empty PATCH try again', async (t) => {
      const { tus, clamd, list } = await start(t)
      const waiting = async () => {
        clamd.behave('closes at once')
        const location = locationOf(await tus.create({ length: 100 }))
        const last = await tus.patch(location, 0, textOf(100))
        assert.deepEqual([last.status, last.body.code], [503, 'SCANNER_UNAVAILABLE'])
        const head = await tus.head(location)
        assert.deepEqual([head.status, head.headers.get('retry-after')], [423, '30'])
        assert.equal((await tus.patch(location, 100)).status, 503)
        assert.deepEqual(await list(), [])
        clamd.behave('scans')
        return location
      }

      const asked = await tus.head(await waiting())
      const firstId = fileIdOf(asked)
      const files = await list()

      assert.deepEqual([asked.status, offsetOf(asked)], [200, 100])
      assert.deepEqual([files.length, files[0].id], [1, firstId])
    })

    test('tus-js-client survives an outage of the scanner without sending a byte twice', async (t) => {
      const { baseUrl, user, clamd, list } = await start(t)
      clamd.behave('closes at once')
      const sent: [string, number][] = []
      const { promise: done, resolve, reject } = Promise.withResolvers<void>()
      const client = new Upload(CLEAN, {
        endpoint: `${baseUrl}/file/uploads`,
        headers: { authorization: `Bearer ${user}` },
        metadata: { filename: 'a.txt' },
        chunkSize: 100_000,
        retryDelays: [0, 0, 0, 0, 0],
        onAfterResponse: (request, response) => {
          sent.push([request.getMethod(), response.getStatus()])
          if (sent.filter(([, status]) => status === 423).length === 2) clamd.behave('scans')
        },
        onSuccess: () => resolve(),
        onError: reject,
      })

      client.start()
      await done

      assert.deepEqual(sent, [
        ['POST', 201],
        ['PATCH', 204],
        ['PATCH', 204],
        ['PATCH', 503],
        ['HEAD', 423],
        ['HEAD', 423],
        ['HEAD', 200],
      ])
      assert.deepEqual(
        (await list()).map(({ size }: { size: number }) => size),
        [CLEAN.length],
      )
    })

    test('an infected PUT /file/{id} or tus upload that replaces a file is refused, and nothing changes', async (t) => {
      const { api, user, tus, refusals, root } = await start(t, { STORAGE_FULL_VERSIONS: '2' })
      const { id } = (await upload(api, user, text(CLEAN))).body
      await replace(api, user, id, { bytes: textOf(70), name: 'a.txt' })
      const state = async () => {
        const paths = ['/file/list', `/file/${id}/versions`, '/file/usage']
        const replies = await Promise.all(paths.map((path) => api.get(path, { token: user })))
        const { bytes } = await api.get(`/file/download/${id}`, { token: user })
        return [replies.map(({ body }) => body), bytes.toString(), (await objectsIn(root)).sort()]
      }
      const before = await state()
      const headers = { 'upload-metadata': metadata({ filename: 'a.txt', replaces: String(id) }) }

      const byForm = await replace(api, user, id, { bytes: INFECTED, name: 'a.txt' })
      const location = locationOf(await tus.create({ length: INFECTED.length, headers }))
      const byTus = await tus.patch(location, 0, INFECTED)
      const inOne = await tus.create({ length: INFECTED.length, headers, body: INFECTED })

      for (const { status, body } of [byForm, byTus, inOne])
        assert.deepEqual([status, body.code], [400, 'FILE_INFECTED'])
      assert.equal((await tus.head(location)).status, 404)
      assert.deepEqual(await state(), before)
      assert.equal((await refusals()).length, 3)
    })

    test('a tus upload that waited is finished by an empty PATCH, once', async (t) => {
      const { tus, clamd, list } = await start(t)
      clamd.behave('closes at once')
      const location = locationOf(await tus.create({ length: 100 }))
      await tus.patch(location, 0, textOf(100))
      clamd.behave('scans')

      const finished = await Promise.all([tus.patch(location, 100), tus.patch(location, 100)])
      const again = await tus.patch(location, 100)

      assert.deepEqual([again.status, fileIdOf(again) > 0], [204, true])
      for (const { status } of finished) assert.ok([204, 423].includes(status))
      assert.equal((await list()).length, 1)
    })

    test('a file over STORAGE_FULL_SCAN_MAX_BYTES is 413 TOO_LARGE_TO_SCAN, and a tus upload at its creation', async (t) => {
      const env = { STORAGE_FULL_SCAN_MAX_BYTES: '100000', STORAGE_FULL_MAX_FILE_SIZE: '1MB' }
      const { api, user, tus, clamd, list } = await start(t, env)

      const exact = await upload(api, user, text(textOf(100_000)))
      const over = await upload(api, user, text(textOf(100_001)))
      const farOver = await upload(api, user, text(textOf(500_000)))
      const announced = await tus.create({ length: 100_001 })
      const overAll = await tus.create({ length: 2_000_000 })

      assert.equal(exact.status, 201)
      for (const { status, body } of [over, farOver, announced])
        assert.deepEqual([status, body.code, body.maxBytes], [413, 'TOO_LARGE_TO_SCAN', 100_000])
      assert.equal(overAll.body.code, 'FILE_TOO_LARGE')
      assert.equal(clamd.scanned.length, 1)
      assert.equal((await list()).length, 1)
    })

    test('the types are checked first, so that the scanner is not asked about what is refused anyway', async (t) => {
      const { api, user, tus, clamd } = await start(t)

      const wrong = await upload(api, user, { name: 'a.png', bytes: INFECTED })
      const wrongSum = await tus.create({
        length: 5,
        body: Buffer.from('VIRUS'),
        headers: {
          'upload-metadata': `filename ${base64('a.txt')},sha256 ${base64('0'.repeat(64))}`,
        },
      })

      assert.equal(wrong.body.code, 'FILE_TYPE_MISMATCH')
      assert.equal(wrongSum.body.code, 'CHECKSUM_MISMATCH')
      assert.deepEqual(clamd.scanned, [])
    })

    test('/actuator/prometheus has unfinished uploads, and those that only wait for the scanner', async (t) => {
      const { tus, clamd, server } = await start(t)
      clamd.behave('closes at once')
      const waiting = locationOf(await tus.create({ length: 100 }))
      await tus.patch(waiting, 0, textOf(100))
      const begun = locationOf(await tus.create({ length: 100 }))
      await tus.patch(begun, 0, textOf(70))

      const families = await server.metrics.read()

      const gauge = (name: string) => {
        const [sample] = families.find((family) => family.name === name)?.samples ?? []
        return sample && 'value' in sample && sample.value
      }
      assert.equal(gauge('plinth_unfinished_uploads'), 2)
      assert.equal(gauge('plinth_unfinished_upload_bytes'), 170)
      assert.equal(gauge('plinth_waiting_uploads'), 1)
    })

    test('/actuator/prometheus counts scans by their results', async (t) => {
      const { api, user, clamd, server } = await start(t)
      await upload(api, user)
      await upload(api, user, text(INFECTED))
      clamd.behave('closes at once')
      await upload(api, user)

      const families = await server.metrics.read()

      const scans = families.find(({ name }) => name === 'plinth_scans_total')
      assert.deepEqual(
        scans?.samples.map((sample) => [sample.labels.result, 'value' in sample && sample.value]),
        [
          ['clean', 1],
          ['infected', 1],
          ['unavailable', 1],
          ['too_large', 0],
          ['unscanned', 0],
        ],
      )
    })
  })

async function objectsIn(root: string): Promise<string[]> {
  const names = await readdir(root, { recursive: true, withFileTypes: true })
  return names
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map((entry) => join(entry.parentPath, entry.name))
}

test('an empty piece of a stream does not end what the scanner sees', async (t) => {
  const clamd = await startFakeClamd(t)
  const pieces = ['ab', '', 'cd', ''].map((piece) => Buffer.from(piece))
  const address = { host: '127.0.0.1', port: clamd.port }

  const verdict = await scanStream({ address, timeoutMs: 5_000 }, async () => Readable.from(pieces))

  assert.deepEqual(verdict, { found: undefined, scannedBytes: 4 })
  assert.equal(clamd.scanned[0]?.toString(), 'abcd')
})

test('a scanner that takes bytes very slowly is given up after a time that depends on the size', async (t) => {
  const clamd = await startFakeClamd(t)
  clamd.behave('reads slowly')
  const piece = textOf(64 * 1024)
  const scan = (pieces: number, slowestBytesPerSecond: number) =>
    scanStream(
      {
        ...{ address: { host: '127.0.0.1', port: clamd.port }, timeoutMs: 1_000 },
        slowestBytesPerSecond,
      },
      async () => Readable.from(Array.from({ length: pieces }, () => piece)),
    )

  const fastEnough = await scan(10, 1_000)

  assert.equal(fastEnough.scannedBytes, 10 * piece.length)
  await assert.rejects(scan(1_000, 1_000_000_000), /too slowly/)
})

test('the address of the scanner is clamd://host:port or unix:/path; anything else is a fault', () => {
  const scanOf = (url: string) => loadConfig({ STORAGE_FULL_SCAN_URL: url }).scan?.address

  assert.deepEqual(scanOf('clamd://scanner:3311'), { host: 'scanner', port: 3311 })
  assert.deepEqual(scanOf('clamd://scanner'), { host: 'scanner', port: 3310 })
  assert.deepEqual(scanOf('clamd://[::1]:3310'), { host: '::1', port: 3310 })
  assert.deepEqual(scanOf('unix:/run/clamd.ctl'), { path: '/run/clamd.ctl' })
  assert.deepEqual(scanOf('unix:///run/clamd.ctl'), { path: '/run/clamd.ctl' })
  assert.equal(loadConfig({}).scan, undefined)
  for (const url of [
    'scanner:3310',
    'http://scanner:3310',
    'clamd://',
    'clamd://scanner/path',
    'clamd://user@scanner',
    'clamd://scanner:99999',
    'unix:run/clamd.ctl',
    `unix:/${'x'.repeat(200)}`,
  ])
    assert.throws(() => scanOf(url), /STORAGE_FULL_SCAN_URL/, url)
})

test('plinth doctor asks the scanner for its version, and whether it takes the largest file', async (t) => {
  const clamd = await startFakeClamd(t, { maxLength: 1_000_000 })
  const examined = {
    ...{ name: 'storage-full', prefix: 'STORAGE_FULL_', production: false },
    ...{ isRunning: true, isPublic: false },
  }
  const findingsFor = (env: Record<string, string>) =>
    scannerFindings(examined, loadConfig({ STORAGE_FULL_SCAN_URL: clamd.url, ...env }))

  const good = await findingsFor({ STORAGE_FULL_SCAN_MAX_BYTES: '1000000' })
  const short = await findingsFor({ STORAGE_FULL_SCAN_MAX_BYTES: '1000001' })
  await clamd.stop()
  const [gone] = await findingsFor({})
  const [optional] = await findingsFor({ STORAGE_FULL_SCAN_REQUIRED: 'false' })
  const [absent] = await scannerFindings(examined, loadConfig({}))

  const statuses = (findings: { status: string }[]) => findings.map(({ status }) => status)
  assert.deepEqual(statuses(good), ['ok', 'ok'])
  assert.deepEqual(statuses(short), ['ok', 'fail'])
  assert.deepEqual([gone?.status, optional?.status, absent?.status], ['fail', 'warn', 'skip'])
})
