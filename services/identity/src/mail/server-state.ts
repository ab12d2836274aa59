import type { Health, Server } from '@plinth/kit/http'
import type { Logger } from '@plinth/kit/logging'
import type { Delivered, Transport } from './transport.ts'

const CHECK_MS = 60_000
const ADDRESS = /[^\s<>]+@[^\s<>]+/g

export type ServerState = {
  /** Call with the outcome of each attempt to send a mail. */
  note(delivered: Delivered): void
  health(): Promise<Health>
}

type Failure = { attempts: number; isPastSignIn: boolean }

/**
 * Whether the mail server takes our mails, as the last attempt or check showed. The log says so once when it stops
 * and once when it takes them again, however many mails wait.
 */
export function watchServer(
  transport: Transport | undefined,
  { log, metrics }: { log: Logger; metrics: Server['metrics'] },
): ServerState {
  let failure: Failure | undefined
  let refuses = false
  let lastCheck: { at: number; done: Promise<void> } | undefined
  const count = metrics.counter({
    name: 'plinth_mail_attempts_total',
    help: 'Attempts to send a mail.',
    labels: ['result'],
  })
  for (const result of ['accepted', 'refused', 'failed']) count({ result }, 0)

  const works = () => {
    if (failure) log.info({ failedAttempts: failure.attempts }, 'the mail server takes mails again')
    failure = undefined
  }
  const fails = (reply: string, isPastSignIn: boolean) => {
    const attempts = (failure?.attempts ?? 0) + 1
    if (!failure)
      log.error({ reply: withoutAddresses(reply) }, 'the mail server takes no mails; they wait')
    failure = { attempts, isPastSignIn }
  }
  const refusesMail = (reply: string) => {
    works()
    if (!refuses)
      log.warn({ reply: withoutAddresses(reply) }, 'the mail server refuses mails: see /api/mail')
    refuses = true
  }

  /** A sign-in that succeeds says nothing about a server that refuses us after it. */
  const check = async (by: Transport) => {
    try {
      await by.check()
      if (!failure?.isPastSignIn) works()
    } catch (error) {
      fails(error instanceof Error ? error.message : String(error), false)
    }
  }
  const checkedLately = (by: Transport) => {
    const now = performance.now()
    if (!lastCheck || now - lastCheck.at >= CHECK_MS) lastCheck = { at: now, done: check(by) }
    return lastCheck.done
  }

  if (transport)
    metrics.gauge(
      { name: 'plinth_mail_server_up', help: '1 while the mail server takes our mails.' },
      () => {
        // Without waiting for it: a server that hangs must not hold up the other metrics.
        if (failure) void checkedLately(transport)
        return failure ? 0 : 1
      },
    )

  return {
    note(delivered) {
      count({ result: resultOf(delivered) })
      if (delivered.ok) {
        refuses = false
        works()
      } else if (delivered.concerns === 'mail') refusesMail(delivered.reply)
      else fails(delivered.reply, delivered.concerns === 'sender')
    },
    async health() {
      if (!transport) return { status: 'DOWN', reason: 'No mail server is set.' }
      await checkedLately(transport)
      return failure ? { status: 'DOWN', reason: 'The mail server refuses us.' } : { status: 'UP' }
    },
  }
}

function resultOf(delivered: Delivered): 'accepted' | 'refused' | 'failed' {
  if (delivered.ok) return 'accepted'
  return delivered.concerns === 'mail' ? 'refused' : 'failed'
}

function withoutAddresses(reply: string): string {
  return reply.replaceAll(ADDRESS, '(address)')
}
