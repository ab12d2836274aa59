import assert from 'node:assert/strict'
import { chmodSync, mkdirSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { sampleFiles } from '@plinth/kit/testing'
import { startStack } from '../stack/stack.ts'
import { testEnv } from './test-env.ts'

const noModes = process.platform === 'win32' && 'Windows has no file modes'

test('other users of the machine can read nothing that the services write', {
  skip: noModes,
}, async (t) => {
  const umask = process.umask(0)
  t.after(() => process.umask(umask))
  const { env } = await testEnv(t)
  const data = env.SUITE_DATA ?? ''
  mkdirSync(data)
  chmodSync(data, 0o777)
  const stack = await startStack({ env })
  t.after(() => stack.close())
  const urlOf = (name: string) => stack.services.find(({ entry }) => entry.name === name)?.url ?? ''

  await uploadTo(urlOf('storage-key'), { 'x-api-key': 'storage-local-dev-key' })
  const authorization = await bearerAt(urlOf('storage-full'))
  const { id } = (await (await uploadTo(urlOf('storage-full'), { authorization })).json()) as {
    id: number
  }
  const headers = { authorization }
  const thumbnail = await fetch(`${urlOf('storage-full')}/file/thumbnail/${id}`, { headers })

  assert.equal(thumbnail.headers.get('content-type'), 'image/jpeg')
  const modes = await modesIn(data)
  assert.ok(modes.some(([name]) => name.endsWith('.db-wal')))
  assert.ok(modes.some(([name]) => name.endsWith('.thumbnail.jpg')))
  assert.deepEqual(
    modes.filter(([, mode]) => mode !== 'd700' && mode !== '-600'),
    [],
  )
})

async function modesIn(folder: string): Promise<[name: string, mode: string][]> {
  const names = await readdir(folder, { recursive: true })
  return Promise.all(
    names.map(async (name): Promise<[string, string]> => {
      const stats = await stat(join(folder, name))
      const kind = stats.isDirectory() ? 'd' : '-'
      return [name, kind + (stats.mode & 0o777).toString(8)]
    }),
  )
}

async function uploadTo(url: string, headers: Record<string, string>): Promise<Response> {
  const body = new FormData()
  body.append('file', new Blob([new Uint8Array(sampleFiles.png)], { type: 'image/png' }), 'a.png')
  const reply = await fetch(`${url}/file`, { method: 'POST', headers, body })
  assert.ok(reply.ok, `${reply.status}`)
  return reply
}

async function bearerAt(url: string): Promise<string> {
  const reply = await fetch(`${url}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'user', password: 'password123123' }),
  })
  const { accessToken } = (await reply.json()) as { accessToken: string }
  return `Bearer ${accessToken}`
}
