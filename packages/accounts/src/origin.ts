import type { Request } from '@plinth/kit'

/** Where a request came from: what the audit log and a list of sessions show of it. */
export type Origin = { address: string; userAgent: string | null; requestId: string | null }

const LONGEST_USER_AGENT = 300

export function originOf(request: Request): Origin {
  const userAgent = request.headers['user-agent']?.slice(0, LONGEST_USER_AGENT) ?? null
  return { address: request.ip, userAgent, requestId: request.id }
}
