import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { debianProgram } from '../../../test/servers/debian.ts'
import { until } from '../../../test/until.ts'
import { loadConfig } from '../src/config.ts'
import { askClamd } from '../src/scanning/clamd.ts'
import { scannerFindings } from '../src/scanning/doctor.ts'
import { startStorage, temporaryFolder, upload } from './start-storage.ts'
import { fileIdOf, locationOf, textOf, tusFor } from './tus-client.ts'

// In two parts, so that no scanner finds it here.
const EICAR = Buffer.from(
  `${'X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR-STANDARD-'}${'ANTIVIRUS-TEST-FILE!$H+H*'}`,
)
const MAX_BYTES = 2 * 1024 * 1024

const missing = await debianProgram('clamd', 'clamav-daemon').then(
  () => false as const,
  (error: Error) => `no clamd: ${error.message}`,
)

/** clamd with one signature of our own, so that nothing is downloaded. */
async function startClamd(t: TestContext, folder: string) {
  const { path, env } = await debianProgram('clamd', 'clamav-daemon')
  const socket = join(folder, 'clamd.ctl')
  const configuration = join(folder, 'clamd.conf')
  await writeFile(join(folder, 'own.ndb'), `Own.Eicar:0:*:${EICAR.toString('hex')}\n`)
  await writeFile(
    configuration,
    [
      `LocalSocket ${socket}`,
      `DatabaseDirectory ${folder}`,
      'Foreground yes',
      `StreamMaxLength ${MAX_BYTES}`,
    ].join('\n'),
  )
  const state: { child: ChildProcess | undefined } = { child: undefined }
  const clamd = { address: { path: socket }, timeoutMs: 5_000 }
  const stop = async () => {
    const { child } = state
    state.child = undefined
    if (!child || child.exitCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  const start = async () => {
    state.child = spawn(path, ['-c', configuration], { env, stdio: 'ignore' })
    await until(
      () => askClamd(clamd, 'PING').catch(() => ''),
      (answer) => answer === 'PONG',
    )
  }
  t.after(stop)
  await start()
  return { url: `unix:${socket}`, start, stop }
}

test('a real clamd finds a virus in a form and in a tus upload, and lets others pass', {
  skip: missing,
}, async (t) => {
  const folder = await temporaryFolder(t)
  const clamd = await startClamd(t, folder)
  const env = {
    STORAGE_FULL_SCAN_URL: clamd.url,
    STORAGE_FULL_SCAN_MAX_BYTES: String(MAX_BYTES),
  }
  const { api, user } = await startStorage(t, env)
  const tus = tusFor(api, user)
  const text = (bytes: Buffer) => ({ name: 'a.txt', type: 'text/plain', bytes })

  const clean = await upload(api, user, text(textOf(MAX_BYTES)))
  const picture = await upload(api, user)
  const infected = await upload(api, user, text(EICAR))
  const inside = await upload(api, user, text(Buffer.concat([textOf(1_000_000), EICAR])))
  const infectedTus = await tus.create({ length: EICAR.length, body: EICAR })
  const findings = await scannerFindings(
    {
      ...{ name: 'storage-full', prefix: 'STORAGE_FULL_', production: false },
      ...{ isRunning: true, isPublic: false },
    },
    loadConfig(env),
  )

  assert.deepEqual([clean.status, picture.status], [201, 201])
  for (const { status, body } of [infected, inside, infectedTus])
    assert.deepEqual(
      [status, body.code, body.signature],
      [400, 'FILE_INFECTED', 'Own.Eicar.UNOFFICIAL'],
    )
  assert.deepEqual(
    findings.map(({ status }) => status),
    ['ok', 'ok'],
  )

  await clamd.stop()
  const location = locationOf(await tus.create({ length: 100 }))
  const away = await tus.patch(location, 0, textOf(100))
  await clamd.start()
  const back = await tus.head(location)

  assert.deepEqual([away.status, away.body.code], [503, 'SCANNER_UNAVAILABLE'])
  assert.deepEqual([back.status, fileIdOf(back) > 0], [200, true])
})

test('a clamd that takes less than the settings promise is an error, and the doctor says so', {
  skip: missing,
}, async (t) => {
  const clamd = await startClamd(t, await temporaryFolder(t))
  const env = { STORAGE_FULL_SCAN_URL: clamd.url, STORAGE_FULL_MAX_FILE_SIZE: '20MB' }
  const { api, user, config } = await startStorage(t, env)
  const bytes = textOf(8 * MAX_BYTES)

  const reply = await upload(api, user, { name: 'a.txt', type: 'text/plain', bytes })
  const findings = await scannerFindings(
    {
      ...{ name: 'storage-full', prefix: 'STORAGE_FULL_', production: false },
      ...{ isRunning: true, isPublic: false },
    },
    config,
  )

  assert.deepEqual([reply.status, reply.body.code], [503, 'SCANNER_UNAVAILABLE'])
  const limit = findings.find(({ status }) => status === 'fail')
  assert.match(limit?.seen ?? '', /size limit exceeded/)
})
