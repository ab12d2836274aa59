import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import * as client from '@plinth/client'
import { generatedFile, generatedTypes } from '../../packages/client/generate.ts'
import { ResumableUpload } from '../../packages/client/src/storage/resumable.ts'

const ROOT = join(import.meta.dirname, '../..')
const URL = 'http://localhost'
const CLIENTS = [
  client.identityClient(URL),
  client.storageClient(URL),
  client.storageKeyClient(URL, 'key'),
  client.paymentsClient(URL),
  client.codeFlow(URL, { clientId: 'shop' }),
]
const SOURCE = join(ROOT, 'packages/client/src')

test('the types of @plinth/client are those of docs/openapi; `node test/documents/openapi.ts` updates them', async () => {
  for (const [service, text] of Object.entries(await generatedTypes()))
    assert.equal(readFileSync(generatedFile(service), 'utf8'), text, service)
})

/** A comment, and the method or function that it belongs to. */
const COMMENTED =
  /^ *\/\*\*\n((?: *\*(?!\/).*\n)+) *\*\/\n(?: {2}|export )(?:async )?(?:function )?([a-z]\w*)[(<]/gm

/** What the examples use without declaring it. */
const GIVEN = `
import {
  codeFlow, cookieStore, identityClient, memoryStore, paymentsClient, storageClient, storageKeyClient, verifyWebhook, webStore,
  type CookieJar, type SignedIn, type TokenPair,
} from '${join(SOURCE, 'index.ts')}'
declare const error: unknown, url: string, token: string, paymentId: string, file: Blob, request: Request
declare const jar: CookieJar, pair: TokenPair, credential: Credential | null
export const identity = identityClient(url), storage = storageClient(url), payments = paymentsClient(url)
export const storageKey = storageKeyClient(url, ''), plinth = codeFlow(url, { clientId: 'shop' })
declare const user: SignedIn, refreshToken: string
export { codeFlow, cookieStore, memoryStore, verifyWebhook, webStore, error, token, paymentId, file, request, jar, pair, credential, user, refreshToken }
`

describe('the examples in the comments of @plinth/client', () => {
  const files = globSync('**/*.ts', { cwd: SOURCE }).filter(
    (name) => !/^(http|generated)\/|\.test\.ts$/.test(name),
  )
  const text = files.map((name) => readFileSync(join(SOURCE, name), 'utf8')).join('\n')
  const commented = [...text.matchAll(COMMENTED)].map(([, comment = '', name = '']) => ({
    name,
    example: /@example\n(.*)$/s.exec(comment.replaceAll(/^ *\* ?/gm, ''))?.[1],
  }))

  test('belong to every public method and function', () => {
    const functions = Object.keys(client).filter((name) => /^[a-z]/.test(name))
    const groups = CLIENTS.flatMap((one) => [one, ...Object.values(one)])
    // No group: a method returns it.
    const classes = new Set([...groups.flatMap(classesOf), ResumableUpload.prototype])
    const methods = [...classes].flatMap(methodsOf)
    const shown = commented.filter(({ example }) => example).map(({ name }) => name)

    assert.ok(methods.length > 120 && functions.length > 7)
    assert.deepEqual(shown.sort(), [...methods, ...functions].sort())
  })

  test('compile', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'plinth-examples-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    const examples = commented.flatMap(({ example = '' }) => `{\n${example}}`)
    const program = `${GIVEN}\nexport async function run() {\n${examples.join('\n')}\n}\n`
    const lib = ['esnext', 'dom', 'dom.iterable']
    const settings = {
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: { lib, types: [], noUnusedLocals: false },
      include: ['examples.ts'],
    }
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings))
    await writeFile(join(folder, 'examples.ts'), program)

    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
    const compiled = promisify(execFile)(process.execPath, [compiler, '-p', folder])
    const { stdout } = await compiled.catch((error) => error)

    assert.equal(stdout, '')
  })
})

/** The class of an object, and those that it extends. */
function classesOf(value: object): object[] {
  const parent: object = Object.getPrototypeOf(value)
  return parent === Object.prototype ? [] : [parent, ...classesOf(parent)]
}

function methodsOf(prototype: object): string[] {
  const members = Object.entries(Object.getOwnPropertyDescriptors(prototype))
  return members.flatMap(([name, { value }]) => (value && name !== 'constructor' ? name : []))
}
