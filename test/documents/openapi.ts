/** `node test/documents/openapi.ts` writes docs/openapi/, the API document of each service. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cheapHashing } from '@plinth/accounts/testing'
import { createIdentity, loadConfig as identityConfig } from '@plinth/identity'
import type { Server } from '@plinth/kit'
import { createPayments, loadConfig as paymentsConfig } from '@plinth/payments'
import { createStorageFull, loadConfig as storageConfig } from '@plinth/storage-full'
import { createStorageKey, loadConfig as storageKeyConfig } from '@plinth/storage-key'

export const FOLDER = join(import.meta.dirname, '../../docs/openapi')

/** The document of each service as it is shipped, with every route switched on. */
export async function openApiDocuments(): Promise<Record<string, string>> {
  const folder = await mkdtemp(join(tmpdir(), 'plinth-openapi-'))
  const env = {
    SUITE_DATA: folder,
    LOG_LEVEL: 'silent',
    PAYMENTS_OPERATIONS: 'on',
    ...cheapHashing('IDENTITY_'),
    ...cheapHashing('STORAGE_FULL_'),
  }
  try {
    return {
      identity: await documentOf(createIdentity(identityConfig(env))),
      'storage-full': await documentOf(createStorageFull(storageConfig(env))),
      'storage-key': await documentOf(createStorageKey(storageKeyConfig(env))),
      payments: await documentOf(createPayments(paymentsConfig(env))),
    }
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 20 })
  }
}

async function documentOf(starting: Promise<Server>): Promise<string> {
  const server = await starting
  try {
    const { host } = new URL(server.publicUrl ?? 'http://localhost')
    const { payload } = await server.inject({ url: '/openapi.json', headers: { host } })
    return `${JSON.stringify(JSON.parse(payload), null, 2)}\n`
  } finally {
    await server.close()
  }
}

if (import.meta.main) {
  await mkdir(FOLDER, { recursive: true })
  for (const [name, text] of Object.entries(await openApiDocuments()))
    await writeFile(join(FOLDER, `${name}.json`), text)
}
