import { once } from 'node:events'
import type { TestContext } from 'node:test'
import type { Api } from '@plinth/kit/testing'
import { SMTPServer } from 'smtp-server'
import { until } from '../../../test/until.ts'

export type Received = { from: string; to: string[]; source: string }

type Reply = { code: number; text: string }

/** A real SMTP server on a free port. `refuse` decides by recipient what it answers. */
export async function startSmtpServer(
  t: TestContext,
  { refuse }: { refuse?: (to: string) => Reply | undefined } = {},
) {
  const received: Received[] = []
  let signIns = 0
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    // The service keeps its connections for the next mail.
    closeTimeout: 100,
    onAuth(_credentials, _session, callback) {
      signIns += 1
      callback(null, { user: 'known' })
    },
    onRcptTo({ address }, _session, callback) {
      const reply = refuse?.(address)
      if (!reply) return callback()
      callback(Object.assign(new Error(reply.text), { responseCode: reply.code }))
    },
    onData(stream, session, callback) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        received.push({
          from: mailFrom ? mailFrom.address : '',
          to: rcptTo.map(({ address }) => address),
          source: Buffer.concat(chunks).toString('utf8'),
        })
        callback()
      })
    },
  })
  const listener = server.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as { port: number }
  t.after(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return {
    received,
    url: `smtp://127.0.0.1:${port}`,
    get signIns() {
      return signIns
    },
  }
}

/** The plain text of a mail, decoded. */
export function textOf({ source }: Received): string {
  const [, part = ''] = source.split(/Content-Type: text\/plain[^\n]*\n/)
  const [head = '', ...body] = part.split(/\r?\n\r?\n/)
  const encoded = body.join('\n\n').split(/\r?\n--/)[0] ?? ''
  return /quoted-printable/i.test(head) ? decodeQuotedPrintable(encoded) : encoded
}

function decodeQuotedPrintable(text: string): string {
  const bytes = text
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

export type Mail = {
  kind: string
  to: string
  code: string
  link: string
  text: string
  html: string
}

/** Waits for the newest mail of a kind. */
export async function mailTo(api: Api, to: string, kind: string, count = 1): Promise<Mail> {
  const read = async () => {
    const { body } = await api.get(`/api/dev/mail?to=${encodeURIComponent(to)}`)
    return (body as Mail[]).filter((mail) => mail.kind === kind)
  }
  const mails = await until(read, (found) => found.length >= count)
  return mails[0] as Mail
}

export const tokenOf = ({ link }: Mail) => new URL(link).hash.split('=')[1] as string
