import { mkdirSync } from 'node:fs'
import { copyFile, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { identityClient, paymentsClient, storageClient, storageKeyClient } from '@plinth/client'
import type { TestEngine } from '@plinth/kit/testing'
import { takePayment } from '../../e2e/stack.ts'
import { type ServiceEntry, services } from '../../launcher/services.ts'
import { type Stack, startStack } from '../../launcher/stack/stack.ts'
import { checkedServices } from '../../launcher/test/checked-services.ts'
import { testEnv } from '../../launcher/test/test-env.ts'

export const PASSWORD = 'a password of grace'
const GRACE = { username: 'grace', email: 'grace@example.org', password: PASSWORD }
export const PDF = new Blob(['%PDF-1.4\n%%EOF\n'], { type: 'application/pdf' })

/** Settings with a separate database for each service. */
export async function suiteEnv(t: TestContext, engine: TestEngine) {
  const { env, folder } = await testEnv(t, { NODE_ENV: 'test' })
  if (engine.name === 'postgres')
    for (const name of ['IDENTITY', 'STORAGE_FULL', 'PAYMENTS'])
      env[`${name}_DATABASE_URL`] = await engine.freshUrl(t)
  mkdirSync(env.SUITE_DATA as string, { recursive: true })
  return { env, folder, backups: join(env.SUITE_DATA as string, 'backups') }
}

export type Env = Record<string, string>

/** For tests where one service is enough: it has both a database and files. */
export const onlyStorage = services.filter(({ name }) => name === 'storage-full')

export async function startSuiteOn(t: TestContext, env: Env, only?: ServiceEntry[]) {
  const names = (only ?? services).map(({ name }) => name)
  const checked = checkedServices(t).filter(({ name }) => names.includes(name))
  const stack = await startStack({ env, only: checked })
  let open = true
  const close = async () => {
    if (open) await stack.close()
    open = false
  }
  t.after(close)
  return { close, ...clientsOf(stack) }
}

export type Suite = Awaited<ReturnType<typeof startSuiteOn>>

function clientsOf(stack: Stack) {
  const urlOf = (name: string) =>
    stack.services.find(({ entry }) => entry.name === name)?.url ?? 'http://localhost:1'
  return {
    urlOf,
    identity: identityClient(urlOf('identity')),
    storage: storageClient(urlOf('storage-full')),
    keyStorage: storageKeyClient(urlOf('storage-key'), 'storage-local-dev-key'),
    payments: paymentsClient(urlOf('payments')),
  }
}

/** Creates a user, a file in each edition and a payment. */
export async function fill({ identity, storage, keyStorage, urlOf }: Suite) {
  await identity.register(GRACE)
  await storage.register(GRACE)
  await storage.logIn('grace', PASSWORD)
  const file = await storage.files.upload(PDF, 'paper.pdf')
  const keyFile = await keyStorage.files.upload(PDF, 'paper.pdf')
  await takePayment(urlOf)
  return { file, keyFile }
}

/** Settings for an empty data folder with the same keys. */
export async function elsewhere(env: Env, folder: string): Promise<Env> {
  const data = join(folder, 'data')
  await mkdir(data, { recursive: true })
  for (const name of await readdir(env.SUITE_DATA as string))
    if (name.endsWith('.key'))
      await copyFile(join(env.SUITE_DATA as string, name), join(data, name))
  return { ...env, SUITE_DATA: data }
}
