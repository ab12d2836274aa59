import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { services } from '../services.ts'

for (const { name, portSetting } of services)
  describe(`node services/${name}/src/main.ts`, () => {
    test('reads .env in the working directory, and exits 78 if a setting in it is invalid', async (t) => {
      const cwd = mkdtempSync(join(tmpdir(), 'plinth-main-'))
      t.after(() => rmSync(cwd, { recursive: true, force: true }))
      writeFileSync(join(cwd, '.env'), `${portSetting}=nonsense\n`)
      const main = join(import.meta.dirname, `../../services/${name}/src/main.ts`)
      // A service that starts after all would run forever, hence the timeout.
      const options = { cwd, env: { PATH: process.env.PATH }, timeout: 60_000 }

      const failure = await promisify(execFile)(process.execPath, [main], options).catch(
        (error) => error,
      )

      assert.equal(failure.code, 78)
      assert.match(failure.stderr, new RegExp(portSetting))
    })
  })

test('loading the services loads neither fetch nor WebSocket', async () => {
  const apps = services.map(({ name }) =>
    join(import.meta.dirname, `../../services/${name}/src/app.ts`),
  )
  const script = `
    for (const app of ${JSON.stringify(apps)}) await import(app)
    console.log(process.moduleLoadList.filter((name) => name.includes('undici')).join(' '))`
  const words = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script]

  const { stdout } = await promisify(execFile)(process.execPath, words, { timeout: 60_000 })

  assert.equal(stdout.trim(), '')
})
