import { mkdtempSync, readdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Api, apiFor, listenForTest, testClock } from '@plinth/kit/testing'
import { createStorageKey, loadConfig } from '../src/app.ts'

export const KEY = 'a-key-for-all-the-tests'

/** A service that creates its folder. The service is closed and the folder removed when the test ends. */
export async function startStorageKey(t: TestContext, settings: Record<string, string> = {}) {
  const root = join(temporaryFolder(t), 'files')
  const config = loadConfig({
    STORAGE_KEY_API_KEY: KEY,
    STORAGE_KEY_ROOT: root,
    LOG_LEVEL: 'silent',
    ...settings,
  })
  const clock = testClock()
  const server = await createStorageKey(config, { clock })
  const { baseUrl, port, api } = await listenForTest(t, server)
  return { root, server, clock, baseUrl, port, anonymous: api, api: keyed(api) }
}

/** Retries, because hooks run in order of registration: the service may still write while its folder is removed. */
export function temporaryFolder(t: { after(work: () => Promise<void>): void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-storage-key-'))
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }))
  return folder
}

/** The same client with the key on every request. */
export function keyed(api: Api, key = KEY): Pick<Api, 'get' | 'head' | 'delete' | 'request'> {
  const request: Api['request'] = (method, path, options = {}) =>
    api.request(method, path, { ...options, headers: { 'x-api-key': key, ...options.headers } })
  return {
    request,
    get: (path, options) => request('GET', path, options),
    head: (path, options) => request('HEAD', path, options),
    delete: (path, options) => request('DELETE', path, options),
  }
}

export const apiAt = (baseUrl: string) => keyed(apiFor(baseUrl))

/** The contents of the storage folder and of its folder for incoming uploads. */
export function filesIn(root: string): { stored: string[]; incoming: string[] } {
  return {
    stored: readdirSync(root)
      .filter((name) => name !== '.incoming')
      .sort(),
    incoming: readdirSync(join(root, '.incoming')),
  }
}

type Part = { content?: Uint8Array | string; filename?: string; type?: string; name?: string }

export function form(part: Part = {}): FormData {
  const { content = PNG, filename = 'a.png', type = 'image/png', name = 'file' } = part
  const data = new FormData()
  data.append(name, new Blob([new Uint8Array(Buffer.from(content))], { type }), filename)
  return data
}

export function upload(api: Pick<Api, 'request'>, part: Part = {}) {
  return api.request('POST', '/file', { body: form(part) })
}

/** The signature of a PNG and the start of its header. */
export const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
