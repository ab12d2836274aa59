import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { concealBody, concealHeaders, publicValues } from '../../api/concealment.ts'
import type { Exchange } from '../../api/exchange-log.ts'
import { curlOf, fetchOf, program, runnable } from './snippets.ts'

const ORIGIN = 'http://localhost:8081'

function exchange(values: Partial<Exchange>): Exchange {
  const nothing = { id: 1, method: 'GET', path: '/x', requestHeaders: {}, resend: () => {} }
  return { ...nothing, ...values }
}

test('a token is a shell variable in double quotes', () => {
  const requestHeaders = concealHeaders({ Authorization: 'Bearer eyJsecret' })

  const curl = curlOf(exchange({ path: '/api/users/me', requestHeaders }), ORIGIN)

  assert.equal(
    curl,
    `curl -X GET 'http://localhost:8081/api/users/me' \\\n  -H "Authorization: Bearer $ACCESS_TOKEN"`,
  )
})

test('a password is spliced into the quoted body', () => {
  const requestBody = concealBody({ username: "o'hara", password: 'secret' })

  const curl = curlOf(exchange({ method: 'POST', requestBody }), ORIGIN)

  assert.match(curl, /-d '\{"username":"o'\\''hara","password":"'"\$PASSWORD"'"\}'/)
  assert.doesNotMatch(curl, /secret/)
})

test('the keys of storage settings are hidden like a password', () => {
  const body = concealBody({ bucket: 'files', accessKey: 'AK', secretKey: 'SK', other: ['SK'] })

  assert.deepEqual(body, {
    ...{ bucket: 'files', accessKey: '$ACCESS_KEY', secretKey: '$SECRET_KEY', other: ['SK'] },
  })
})

test('the secret of a webhook endpoint is hidden like a password', () => {
  const body = concealBody([{ url: 'http://x', secret: 'whsec_1', secondSecret: 'whsec_2' }])

  const hidden = '$SECRET'
  assert.deepEqual(body, [{ url: 'http://x', secret: hidden, secondSecret: hidden }])
})

test('fetch uses variables', () => {
  const requestHeaders = concealHeaders({ 'X-API-KEY': 'k', 'Content-Type': 'application/json' })
  const requestBody = concealBody({ refreshToken: 'r' })

  const code = fetchOf(exchange({ method: 'POST', requestHeaders, requestBody }), ORIGIN)

  assert.match(code, /"X-API-KEY": `\$\{API_KEY\}`/)
  assert.match(code, /"refreshToken": REFRESH_TOKEN/)
})

test('a program asks for what only a person knows', () => {
  const requestBody = concealBody({ mfaToken: 'm', recoveryCode: 'r' })

  const code = complete(exchange({ method: 'POST', requestBody }), ORIGIN)

  assert.match(code, /^import \{ createInterface \} from 'node:readline\/promises'\n/)
  assert.match(code, /^const MFA_TOKEN = await terminal\.question\('MFA_TOKEN: '\)$/m)
  assert.match(code, /^const RECOVERY_CODE = await terminal\.question\('RECOVERY_CODE: '\)$/m)
})

test('an upload is a form field with its declared type', () => {
  const requestFile = { name: 'lake.png', type: 'image/png' }

  assert.match(curlOf(exchange({ requestFile }), ORIGIN), /-F 'file=@lake\.png;type=image\/png'/)
})

test('the name of an uploaded file may contain whatever ends a name for curl', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'snippet-'))
  t.after(() => rm(folder, { recursive: true }))
  const requestFile = { name: `o'hara; "1, 2".txt`, type: 'text/plain' }
  await writeFile(join(folder, requestFile.name), 'the bytes')
  const received = Promise.withResolvers<string>()
  const server = createServer(async (request, response) => {
    received.resolve(Buffer.concat(await request.toArray()).toString())
    response.end()
  }).listen(0)
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo

  const command = curlOf(exchange({ method: 'POST', requestFile }), `http://localhost:${port}`)
  await promisify(execFile)('sh', ['-c', command], { cwd: folder })

  assert.match(await received.promise, /Content-Type: text\/plain\r\n\r\nthe bytes\r\n/)
})

test('a program that uploads reads the file itself and runs unchanged', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'snippet-'))
  t.after(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'lake.png'), 'the bytes')
  const received = Promise.withResolvers<FormData>()
  const server = createServer(async (request, response) => {
    const headers = { 'content-type': request.headers['content-type'] ?? '' }
    const body = Buffer.concat(await request.toArray())
    received.resolve(await new Response(body, { headers }).formData())
    response.end()
  }).listen(0)
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const requestFile = { name: 'lake.png', type: 'image/png' }

  const code = complete(exchange({ method: 'POST', requestFile }), `http://localhost:${port}`)
  await writeFile(join(folder, 'upload.mjs'), code)
  await promisify(execFile)(process.execPath, ['upload.mjs'], { cwd: folder })

  const file = (await received.promise).get('file') as File
  assert.deepEqual(
    [file.name, file.type, await file.text()],
    ['lake.png', 'image/png', 'the bytes'],
  )
})

for (const [language, run] of [
  ['command', (given: Exchange, url: string, cwd: string) => inShell(curlOf(given, url), cwd)],
  ['program', (given: Exchange, url: string, cwd: string) => inNode(complete(given, url), cwd)],
] as const)
  test(`a ${language} that sends a piece of a file cuts it out of that file`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'snippet-'))
    t.after(() => rm(folder, { recursive: true }))
    await writeFile(join(folder, "-o'hara.txt"), '0123456789')
    const received = Promise.withResolvers<string[]>()
    const server = createServer(async (request, response) => {
      const body = Buffer.concat(await request.toArray()).toString()
      received.resolve([request.method ?? '', request.headers['content-type'] ?? '', body])
      response.end()
    }).listen(0)
    t.after(() => server.close())
    const { port } = server.address() as AddressInfo
    const requestHeaders = { 'Content-Type': 'application/offset+octet-stream' }
    const requestPiece = { name: "-o'hara.txt", from: 3, to: 7 }

    const given = exchange({ method: 'PATCH', requestHeaders, requestPiece })
    await run(given, `http://localhost:${port}`, folder)

    const type = 'application/offset+octet-stream'
    assert.deepEqual(await received.promise, ['PATCH', type, '3456'])
  })

test('a copied command sets its variables and is a single line to the shell', (t) => {
  const requestHeaders = concealHeaders({ Authorization: 'Bearer eyJsecret' })
  const command = curlOf(exchange({ requestHeaders }), ORIGIN)
  publicValues.USERNAME = 'user'
  t.after(() => {
    delete publicValues.USERNAME
  })

  const copied = runnable(command, ORIGIN, true)

  assert.match(copied, /^USERNAME='user' && \\\nprintf 'PASSWORD: ' && read -r PASSWORD && \\\n/)
  assert.match(copied, /ACCESS_TOKEN=\$\(curl -s 'http:\/\/localhost:8081\/api\/auth\/login'/)
  for (const line of copied.split('\n').slice(0, -1)) assert.match(line, /\\$/)
  assert.ok(copied.endsWith(command))
})

test('a copied command without variables is unchanged', () => {
  const command = curlOf(exchange({ path: '/actuator/health' }), ORIGIN)

  assert.equal(runnable(command, ORIGIN, true), command)
})

test('a program signs in, sends the request and prints its status and reply', async (t) => {
  publicValues.USERNAME = 'user'
  publicValues.PASSWORD = 'public'
  t.after(() => {
    delete publicValues.USERNAME
    delete publicValues.PASSWORD
  })
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    if (request.url === '/api/auth/login')
      response.end(JSON.stringify({ accessToken: `token for ${body}` }))
    else response.end(request.headers.authorization)
  }).listen(0)
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const requestHeaders = concealHeaders({ Authorization: 'Bearer eyJsecret' })

  const code = complete(exchange({ requestHeaders }), `http://localhost:${port}`)
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '--eval',
    code,
  ])

  assert.equal(stdout, '200 Bearer token for {"username":"user","password":"public"}\n')
})

test('a header that contains the word TOKEN is not taken for a variable', () => {
  const requestHeaders = { 'X-XSRF-TOKEN': '$CSRF_TOKEN' }

  const code = complete(exchange({ requestHeaders }), ORIGIN)

  assert.doesNotMatch(code, /const TOKEN/)
  assert.match(code, /"Cookie": `XSRF-TOKEN=\$\{CSRF_TOKEN\}`/)
})

function complete(given: Exchange, baseUrl: string): string {
  return program(fetchOf(given, baseUrl), { baseUrl, signsIn: true })
}

const inShell = (command: string, cwd: string) =>
  promisify(execFile)('sh', ['-c', command], { cwd })

async function inNode(code: string, cwd: string) {
  await writeFile(join(cwd, 'send.mjs'), code)
  await promisify(execFile)(process.execPath, ['send.mjs'], { cwd })
}
