import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'

const HEALTH = import.meta.resolve('../backups/health.ts')

const SCRIPT = `
  import { registerHooks } from 'node:module'
  const loaded = []
  registerHooks({ resolve: (name, context, next) => { loaded.push(name); return next(name, context) } })
  const { backupHealth } = await import(${JSON.stringify(HEALTH)})
  const { status } = await backupHealth({ record: 'none.json' })
  console.log(JSON.stringify({ status, loaded }))`

test('the health of backups is read without loading the libraries that make them', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '-e',
    SCRIPT,
  ])

  const { status, loaded } = JSON.parse(stdout)
  assert.equal(status, 'UNKNOWN')
  assert.deepEqual(
    loaded.filter((name: string) => ['pg', 'tar-stream', 'better-sqlite3'].includes(name)),
    [],
  )
})
