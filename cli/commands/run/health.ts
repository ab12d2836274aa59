import { setTimeout as pause } from 'node:timers/promises'
import { type Env, hostUrl, readSettings } from '@plinth/kit/runtime'
import { loadConfig, withSuiteHost } from '../../../launcher/config.ts'
import { prefixOf, type ServiceEntry, services } from '../../../launcher/services.ts'
import { type Command, CommandError, EXIT, serviceOf } from '../../command.ts'

const ANSWER_MS = 3_000
const POLL_MS = 500

type Health = { service: string; url: string; status: string; reason?: string }

export const health: Command = {
  name: 'health',
  summary: 'checks the health of the running services; exit code 1 unless all are up or degraded',
  operands: ['[service…]'],
  options: {
    wait: { type: 'string', value: 'SECONDS', help: 'waits this long for all to be up' },
    pid: {
      type: 'string',
      value: 'PID',
      help: 'the process of plinth start: --wait counts once all answer, and stops if it exits',
    },
  },
  run: async ({ operands, env, text, progress }) => {
    const asked = addressesOf(operands, env)
    const waitMs = 1000 * numberOf('wait', text('wait') ?? '0')
    const pid = text('pid')
    const isRunning = pid === undefined ? undefined : runningOf(numberOf('pid', pid))
    let found = await askAll(asked)
    const isStarting = () => isRunning !== undefined && !found.every(hasAnswered)
    let end = performance.now() + waitMs
    while (!found.every(isUp) && isRunning?.() !== false) {
      if (isStarting()) end = performance.now() + waitMs
      else if (performance.now() >= end) break
      progress.show('services up', found.filter(isUp).length, found.length)
      await pause(POLL_MS)
      found = await askAll(asked)
    }
    return {
      text: found.map(lineOf).join('\n'),
      json: found,
      code: found.every(isUp) ? EXIT.done : EXIT.failed,
    }
  },
}

const lineOf = ({ service, status, url, reason }: Health) =>
  [service, status, url, ...(reason === undefined ? [] : [reason])].join('\t')

const NO_ANSWER = 'NO ANSWER'
/** One that is degraded takes requests: to restart it would make a full disk an outage. */
const isUp = ({ status }: Health) => status === 'UP' || status === 'DEGRADED'
const hasAnswered = ({ status }: Health) => status !== NO_ANSWER

function numberOf(option: string, text: string): number {
  if (/^\d{1,7}$/.test(text)) return Number(text)
  throw new CommandError(EXIT.usage, `--${option} ${text}: expected a number.`)
}

/** Any error but ESRCH, such as EPERM for another user's process, means that the process exists. */
function runningOf(pid: number): () => boolean {
  return () => {
    try {
      return process.kill(pid, 0)
    } catch (error) {
      return (error as NodeJS.ErrnoException).code !== 'ESRCH'
    }
  }
}

/** The addresses that `plinth start` with the same names uses: a single service does not inherit SUITE_HOST. */
function addressesOf(names: string[], given: Env): { service: string; url: string }[] {
  const env = names.length === 1 ? given : withSuiteHost(given)
  const suite = names.length === 0 ? loadConfig(env) : undefined
  const chosen = suite
    ? services.filter(({ standsIn }) => suite.sandbox || !standsIn)
    : names.map(serviceOf)
  const landing = suite && { service: 'landing', url: hostUrl(suite.host, suite.port) }
  return [...(landing ? [landing] : []), ...chosen.map((entry) => addressOf(entry, env))]
}

/** Reads only these two settings, so that the health check works even if others are invalid. */
function addressOf(entry: ServiceEntry, env: Env) {
  return readSettings(env, (settings) => ({
    service: entry.name,
    url: hostUrl(
      settings.text(`${prefixOf(entry)}HOST`, 'localhost'),
      settings.integer(entry.portSetting, entry.port, { max: 65535 }),
    ),
  }))
}

function askAll(asked: { service: string; url: string }[]): Promise<Health[]> {
  return Promise.all(
    asked.map(async ({ service, url }) => ({ service, url, ...(await healthAt(url)) })),
  )
}

async function healthAt(url: string): Promise<Pick<Health, 'status' | 'reason'>> {
  try {
    const reply = await fetch(`${url}/actuator/health`, { signal: AbortSignal.timeout(ANSWER_MS) })
    const { status, reason } = (await reply.json()) as { status?: unknown; reason?: string }
    return { status: typeof status === 'string' ? status : `HTTP ${reply.status}`, reason }
  } catch {
    return { status: NO_ANSWER }
  }
}
