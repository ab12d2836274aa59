import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { describe, type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { domainToUnicode } from 'node:url'
import { propertyRuns } from '@plinth/kit/testing'
import fc from 'fast-check'
import addressparser from 'nodemailer/lib/addressparser'
import { until } from '../../../test/until.ts'
import { loadConfig } from '../src/app.ts'
import { recipientOf } from '../src/mail/recipient.ts'
import type { SmtpSettings } from '../src/mail/settings.ts'
import { openTransport } from '../src/mail/transport.ts'
import { headersOf, type Received, startSmtpServer } from './inbox.ts'
import { MASTER_KEY } from './start-identity.ts'

const FROM = 'accounts@plinth.example'
const MAIL = {
  id: 'one',
  to: 'ada@example.com',
  subject: 'One',
  text: 'One',
  html: '<p>One</p>',
}
const env = { SUITE_DATA: tmpdir(), IDENTITY_MASTER_KEY: MASTER_KEY, MAIL_FROM: FROM }

/** The service's transport, connected to a test server, and the socket that it opens. */
function transportTo(t: TestContext, url: string, given: Partial<SmtpSettings> = {}) {
  const { hostname: host, port } = new URL(url)
  const plain = { implicitTls: false, requireTls: false, anyCertificate: false, auth: undefined }
  const smtp = { host, port: Number(port), ...plain, ...given }
  const transport = openTransport(loadConfig(env).mail, smtp, 'https://app.example:8443/identity')
  const { promise: opened, resolve } = Promise.withResolvers<Socket>()
  const onSocket = (message: unknown) => resolve((message as { socket: Socket }).socket)
  subscribe('net.client.socket', onSocket)
  t.after(() => {
    unsubscribe('net.client.socket', onSocket)
    transport.close()
  })
  return { transport, opened }
}

async function silentServer(t: TestContext) {
  const sockets: Socket[] = []
  const server = createServer((socket) => sockets.push(socket.on('error', () => {})))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as { port: number }
  return `smtp://127.0.0.1:${port}`
}

describe('a mail on its way to the mail server', () => {
  test('has only the headers of an auto-generated mail', async (t) => {
    const smtp = await startSmtpServer(t)
    const { transport } = transportTo(t, smtp.url)

    const sent = await transport.send({ ...MAIL, subject: 'Größe\r\nBcc: eve@evil.example' })

    assert.equal(sent.ok, true)
    const [mail] = smtp.received as [Received]
    assert.deepEqual([mail.from, mail.to], [FROM, [MAIL.to]])
    const { date = '', subject, 'content-type': type, ...headers } = headersOf(mail)
    assert.deepEqual(headers, {
      from: FROM,
      to: MAIL.to,
      'message-id': '<one@app.example>',
      'auto-submitted': 'auto-generated',
      'x-auto-response-suppress': 'All',
      'mime-version': '1.0',
    })
    assert.match(subject ?? '', /^=\?UTF-8\?/)
    assert.match(type ?? '', /^multipart\/alternative;/)
    assert.match(date, /^\w{3}, \d{2} \w{3} \d{4} \d\d:\d\d:\d\d \+0000$/)
    assert.ok(Math.abs(Date.parse(date) - Date.now()) < 60_000)
    const parts = [...mail.source.matchAll(/^Content-Type: (text\/\w+)/gm)]
    assert.deepEqual(
      parts.map(([, name]) => name),
      ['text/plain', 'text/html'],
    )
  })

  test('shares two connections with other mails', async (t) => {
    const smtp = await startSmtpServer(t)
    const { transport } = transportTo(t, smtp.url)

    const sent = await Promise.all(
      Array.from({ length: 8 }, (_, n) => transport.send({ ...MAIL, id: String(n) })),
    )

    assert.ok(sent.every(({ ok }) => ok))
    assert.equal(smtp.received.length, 8)
    assert.equal(smtp.counts.connections, 2)
  })

  test('includes no local file and no remote page', async (t) => {
    const smtp = await startSmtpServer(t)
    const { transport } = transportTo(t, smtp.url)

    for (const html of [
      { path: import.meta.filename },
      { href: smtp.url.replace('smtp', 'http') },
    ]) {
      const sent = await transport.send({ ...MAIL, html: html as never })
      assert.equal(sent.ok, false)
      assert.match(sent.reply, /access rejected/i)
    }
    assert.deepEqual(smtp.received, [])
  })

  test('waits 10 seconds for a connection', async (t) => {
    const { transport, opened } = transportTo(t, await silentServer(t))
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
    const sending = transport.send(MAIL)
    // The socket is opened in a later turn of the event loop.
    void opened.then((socket) => {
      assert.equal(socket.connecting, true)
      t.mock.timers.tick(10_000)
    })

    const sent = await sending

    assert.deepEqual([sent.ok, 'retry' in sent && sent.retry], [false, true])
    assert.match(sent.reply, /connection timeout/i)
  })

  test('waits 10 seconds for a greeting', async (t) => {
    const { transport, opened } = transportTo(t, await silentServer(t))
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
    let isOver = false
    const sending = transport.send(MAIL).finally(() => {
      isOver = true
    })
    await once(await opened, 'connect')

    t.mock.timers.tick(9_999)
    await setImmediate()
    assert.equal(isOver, false)
    t.mock.timers.tick(1)
    const sent = await sending

    assert.deepEqual([sent.ok, 'retry' in sent && sent.retry], [false, true])
    assert.match(sent.reply, /greeting/i)
  })

  test('waits 30 seconds for every other answer', async (t) => {
    const smtp = await startSmtpServer(t, { holds: (step) => step === 'recipient' })
    const { transport, opened } = transportTo(t, smtp.url)
    const sending = transport.send(MAIL)
    const socket = await opened
    await until(
      () => smtp.held,
      (steps) => steps.length === 1,
    )

    assert.equal(socket.timeout, 30_000)
    // Node's own socket timeout, which mock timers do not control.
    socket.emit('timeout')
    const sent = await sending

    assert.deepEqual([sent.ok, 'retry' in sent && sent.retry], [false, true])
  })

  test('is left to the outbox when the connection is lost after the last byte', async (t) => {
    const smtp = await startSmtpServer(t, { holds: (step) => step === 'data' })
    const { transport, opened } = transportTo(t, smtp.url)
    const sending = transport.send(MAIL)
    await until(
      () => smtp.held,
      (steps) => steps.length === 1,
    )

    ;(await opened).destroy()
    const sent = await sending

    assert.deepEqual([sent.ok, 'retry' in sent && sent.retry], [false, true])
    assert.equal(smtp.received.length, 1)
    assert.equal(smtp.counts.connections, 1)
  })
})

describe('a mail that is refused', () => {
  const auth = { user: 'ada', pass: 'wrong' }
  const outcome = async (t: TestContext, behaviour: Parameters<typeof startSmtpServer>[1]) => {
    const { url } = await startSmtpServer(t, behaviour)
    const sent = await transportTo(t, url, { auth }).transport.send(MAIL)
    return 'retry' in sent && `${sent.retry ? 'later' : 'never'}: ${/\d{3}/.exec(sent.reply)}`
  }
  const text = 'no'

  test('is retried when the server refuses the service rather than the mail', async (t) => {
    assert.equal(await outcome(t, { refuseAt: { greeting: { code: 554, text } } }), 'later: 554')
    for (const code of [530, 535])
      assert.equal(await outcome(t, { refuseAt: { 'sign-in': { code, text } } }), `later: ${code}`)
    assert.equal(await outcome(t, { refuseAt: { sender: { code: 553, text } } }), 'later: 553')
    assert.equal(await outcome(t, { refuse: () => ({ code: 450, text }) }), 'later: 450')
    assert.equal(await outcome(t, { refuseAt: { data: { code: 451, text } } }), 'later: 451')
  })

  test('is not retried when the server refuses the recipient or the content', async (t) => {
    assert.equal(await outcome(t, { refuse: () => ({ code: 550, text }) }), 'never: 550')
    assert.equal(await outcome(t, { refuseAt: { data: { code: 554, text } } }), 'never: 554')
  })
})

describe('a mail server', () => {
  const production = { ...env, NODE_ENV: 'production', IDENTITY_DEMO_ACCOUNTS: 'off' }
  const smtpOf = (settings: Record<string, string>) => loadConfig(settings).mail.smtp
  const auth = { user: 'ada', pass: 'secret' }

  test('is configured by a URL or by its parts', () => {
    const whole = { SMTP_URL: 'smtps://ada:p%40ss@mail.example:4650' }
    const parts = {
      SMTP_HOST: 'mail.example',
      SMTP_PORT: '4650',
      SMTP_TLS: 'true',
      SMTP_USER: 'ada',
      SMTP_PASSWORD: 'p@ss',
    }
    const expected = {
      host: 'mail.example',
      port: 4650,
      implicitTls: true,
      requireTls: false,
      anyCertificate: false,
      auth: { user: 'ada', pass: 'p@ss' },
    }
    assert.deepEqual(smtpOf({ ...env, ...whole }), expected)
    assert.deepEqual(smtpOf({ ...env, ...parts }), expected)
    const bare = smtpOf({ ...env, SMTP_HOST: 'mail.example' })
    assert.deepEqual([bare?.port, bare?.implicitTls, bare?.auth], [587, false, undefined])
    assert.throws(() => smtpOf({ ...env, SMTP_URL: 'https://mail.example' }), /SMTP_URL/)
    assert.throws(
      () => smtpOf({ ...env, SMTP_URL: 'smtp://ada:100%@mail.example' }),
      ({ message }: Error) => /SMTP_URL.*%25/s.test(message) && !message.includes('100%@'),
    )
  })

  test('must use TLS with a valid certificate in production, unless it is on this machine', () => {
    const rulesFor = (settings: Record<string, string>, host: string) => {
      const smtp = smtpOf({ ...settings, SMTP_URL: `smtp://${host}` })
      return [smtp?.requireTls, smtp?.anyCertificate]
    }
    assert.deepEqual(rulesFor(production, 'mail.example'), [true, false])
    assert.equal(smtpOf({ ...production, SMTP_HOST: 'mail.example' })?.requireTls, true)
    for (const host of ['localhost', '127.0.0.1', '[::1]'])
      assert.deepEqual(rulesFor(production, host), [false, true], host)
    assert.deepEqual(rulesFor(env, 'mail.example'), [false, false])
  })

  test('gets neither a mail nor the password if it lacks the required TLS', async (t) => {
    const smtp = await startSmtpServer(t)
    const { transport } = transportTo(t, smtp.url, { requireTls: true, auth })

    const sent = await transport.send(MAIL)

    assert.equal(sent.ok, false)
    assert.deepEqual([smtp.received, smtp.counts.signIns], [[], 0])
    await assert.rejects(transport.check(), /STARTTLS|TLS/)
  })

  test('gets neither with a self-signed certificate, unless it is on this machine', async (t) => {
    const smtp = await startSmtpServer(t, { encrypts: true })
    const { transport: strict } = transportTo(t, smtp.url, { auth })
    const { transport: local } = transportTo(t, smtp.url, { auth, anyCertificate: true })

    const refused = await strict.send(MAIL)

    assert.deepEqual([refused.ok, 'retry' in refused && refused.retry], [false, true])
    assert.match(refused.reply, /certificate/)
    assert.deepEqual([smtp.received, smtp.counts.signIns], [[], 0])
    assert.equal((await local.send(MAIL)).ok, true)
    const { signIns, encrypted } = smtp.counts
    assert.deepEqual([smtp.received.length, signIns, encrypted], [1, 1, 1])
  })
})

describe('the recipient of a mail', () => {
  const accepted = {
    'ada@example.com': 'ada@example.com',
    "o'hara+news@example.com": "o'hara+news@example.com",
    'a%b!c/d=e@example.com': 'a%b!c/d=e@example.com',
    'ada@localhost': 'ada@localhost',
    'ada@münchen.example': 'ada@xn--mnchen-3ya.example',
    'ada@xn--mnchen-3ya.example': 'ada@xn--mnchen-3ya.example',
    'Ada@Example.COM': 'Ada@example.com',
  }

  test('is the address, with its domain encoded', () => {
    for (const [address, recipient] of Object.entries(accepted))
      assert.equal(recipientOf(address), recipient)
    assert.equal(recipientOf(`${'x'.repeat(64)}@${'y'.repeat(185)}.org`)?.length, 254)
    assert.equal(recipientOf(`${'x'.repeat(64)}@${'y'.repeat(186)}.org`), undefined)
  })

  test('means the same single inbox to every parser, and the one that was typed', {
    tags: ['property'],
  }, () => {
    const pieces =
      'ada,@,victim.example,evil.example,.,..,-,+,%40,%2e,%00,%0d%0a,",\',<,>,;,:,(,),[,],\\,/,?,#,\0,\t,\r\n, ,。,＠,ａ,ß,ü,İ,\u00ad,\u200b,\u202e,\ud800,xn--'
    const piece = fc.constantFrom(...pieces.split(','), ',', 'x'.repeat(64))
    const address = fc.oneof(
      fc.array(piece, { maxLength: 7 }).map((some) => some.join('')),
      fc.array(piece, { maxLength: 4 }).map((some) => `ada@${some.join('')}victim.example`),
      fc.array(piece, { maxLength: 4 }).map((some) => `ada@victim.example${some.join('')}`),
    )
    let sent = 0
    const check = (written: string) => {
      const recipient = recipientOf(written)
      if (recipient === undefined) return
      sent += 1
      assert.match(recipient, /^[^\s@"(),:;<>[\\\]\p{Cc}]{1,64}@[a-z0-9][a-z0-9.-]*$/u)
      assert.ok(recipient.length <= 254)
      assert.deepEqual(addressparser(recipient), [{ name: '', address: recipient }])
      const [local, domain = ''] = recipient.split('@')
      const spellings = [recipient, `${local}@${domainToUnicode(domain)}`]
      assert.ok(spellings.map((each) => each.toLowerCase()).includes(written.toLowerCase()))
    }

    fc.assert(fc.property(address, check), { numRuns: propertyRuns(3_000) })
    assert.ok(sent > 0)
  })
})
