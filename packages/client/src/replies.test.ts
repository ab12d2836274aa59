import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

const ROOT = join(import.meta.dirname, '../../..')
const CLIENTS = {
  identity: 'identityClient',
  'storage-full': 'storageClient',
  'storage-key': 'storageKeyClient',
  payments: 'paymentsClient',
}

/** Each method that returns JSON must declare what the API document says its operation sends. */
const CHECK = `
type Content<Answer> = Answer extends { content: { 'application/json': infer Body } } ? Body : never
type Sent<Operation> = Operation extends { responses: infer Answers }
  ? Content<Answers[keyof Answers & (200 | 201 | 202)]> : never
type Got<Method> = Method extends (...given: never[]) => Promise<infer Reply> ? Reply : never
/** A method may return nothing, or a stream; members that it does not declare are ignored. */
type Fault<Operation, Method> = [Got<Method>] extends [void | Response] ? never
  : [Sent<Operation>] extends [never] ? never
  : [Sent<Operation>] extends [Got<Method>] ? never : 'declares another reply'
type Faults<Operations, Client> = {
  [Name in keyof Operations & keyof Client as Fault<Operations[Name], Client[Name]> extends never
    ? never : Name]: Fault<Operations[Name], Client[Name]>
}
type Posted<Hook> = Hook extends { post: { requestBody: { content: { 'application/json': { data: infer Data } } } } }
  ? Data : never
/** The types of events whose data the client does not know, or declares otherwise. */
type Misread<Hooks> = {
  [Type in keyof Hooks]: Type extends keyof client.EventData
    ? [Posted<Hooks[Type]>] extends [never] ? Type
    : [Posted<Hooks[Type]>] extends [client.EventData[Type]] ? never : Type
    : Type
}[keyof Hooks]
/** Makes sure that there is something to compare. */
type Checked<Operations, Client> = keyof Operations & keyof Client
`

test('every reply the client declares matches the API documents', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'plinth-replies-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const requireOfKit = createRequire(join(ROOT, 'packages/kit/package.json'))
  const { default: typesOf, astToString } = requireOfKit('openapi-typescript')
  const lines = [`import type * as client from '${join(import.meta.dirname, 'index.ts')}'`]
  for (const [service, factory] of Object.entries(CLIENTS)) {
    const document = await readFile(join(ROOT, `docs/openapi/${service}.json`), 'utf8')
    await writeFile(join(folder, `${service}.ts`), astToString(await typesOf(document)))
    lines.push(
      `import type { operations as ${factory}Operations } from './${service}.ts'`,
      `export const ${factory}: Faults<${factory}Operations, ReturnType<typeof client.${factory}>> = {}`,
      `export const ${factory}Known: Checked<${factory}Operations, ReturnType<typeof client.${factory}>> = 'health'`,
    )
    if (service !== 'storage-key')
      lines.push(
        `import type { webhooks as ${factory}Hooks } from './${service}.ts'`,
        `export const ${factory}Misread: [Misread<${factory}Hooks>] extends [never] ? true : Misread<${factory}Hooks> = true`,
        `export const ${factory}Told: keyof ${factory}Hooks = 'ping'`,
      )
  }
  const hooks = ['identityClient', 'storageClient', 'paymentsClient'].map(
    (name) => `keyof ${name}Hooks`,
  )
  lines.push(
    `type Untold = Exclude<keyof client.EventData, ${hooks.join(' | ')}>`,
    `export const untold: [Untold] extends [never] ? true : Untold = true`,
  )
  await writeFile(join(folder, 'check.ts'), lines.join('\n') + CHECK)
  const settings = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: { lib: ['esnext', 'dom', 'dom.iterable'], types: [] },
    include: ['check.ts'],
  }
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings))

  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
  const { stdout } = await promisify(execFile)(process.execPath, [compiler, '-p', folder], {
    timeout: 120_000,
  }).catch((error) => error)

  assert.equal(stdout, '')
})
