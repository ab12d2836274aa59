import { notFound } from '@plinth/kit'
import { providerUnavailable } from './problems.ts'

type Question = { method: string; path: string; body?: unknown; requestId: string }
type Answer = { status: number; type: string; body: Buffer }

/** The line to the sandbox's controls. Nothing is asked of a provider that is not the sandbox. */
export type SandboxLine = (question: Question) => Promise<Answer>

const NAME = 'provider-sandbox'

export function createSandboxLine(apiBase: string, deadlineMilliseconds: number): SandboxLine {
  const ask = async (path: string, options: RequestInit = {}): Promise<Answer> => {
    const signal = AbortSignal.timeout(deadlineMilliseconds)
    try {
      const url = new URL(path, apiBase)
      const response = await fetch(url, { ...options, redirect: 'error', signal })
      const type = response.headers.get('content-type') ?? ''
      return { status: response.status, type, body: Buffer.from(await response.bytes()) }
    } catch (cause) {
      throw providerUnavailable({ cause })
    }
  }

  let proved = false
  return async ({ method, path, body, requestId }) => {
    proved ||= nameIn((await ask('/actuator/info')).body) === NAME
    if (!proved) throw notFound({ detail: 'The provider behind this service is not the sandbox.' })
    const json = body ? { 'content-type': 'application/json' } : undefined
    return ask(`/sandbox/api/${path}`, {
      method,
      headers: { 'x-request-id': requestId, ...json },
      body: json && JSON.stringify(body),
    })
  }
}

function nameIn(info: Buffer): unknown {
  try {
    return JSON.parse(info.toString())?.app?.name
  } catch {
    return undefined
  }
}
