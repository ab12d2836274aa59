import { useEffect, useRef } from 'preact/hooks'
import { createApi } from '../shared/api/api.ts'
import { useLoad } from '../shared/api/use-reply.ts'

let controlToken = ''

/** Where SANDBOX_CONTROL_TOKEN is set, the controls need it. It stays in the memory of this page. */
export function setControlToken(token: string): void {
  controlToken = token
}

export const api = createApi({
  headers: (): Record<string, string> =>
    controlToken === '' ? {} : { Authorization: `Bearer ${controlToken}` },
})

export const CONTROLS = '/sandbox/api'

export type Clock = { now: string; offsetSeconds: number }

export type Switches = {
  paused: boolean
  drop: string[]
  delaySeconds: number
  duplicates: number
  reorder: number
  eventSecond: number | null
  signWith: string
  refunds: string
  amountLimits: boolean
}

export type Fault = {
  id: number
  kind: string
  route: string
  remaining: number | null
  probability: number
  delayMs: number | null
}

export type Faults = { faults: Fault[]; kinds: Record<string, { about: string }> }

const POLL_MILLISECONDS = 2000

/**
 * Loads a control and keeps it current. Polls are not shown in the inspector, and the last value stays
 * when one fails.
 */
export function useCurrent<Body>(path: string) {
  const shown = useRef(false)
  const last = useRef<Body | undefined>(undefined)
  const load = useLoad<Body>(() => {
    const silent = shown.current
    shown.current = true
    return api.get(`${CONTROLS}/${path}`, { silent })
  }, [path])
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) load.reload()
    }, POLL_MILLISECONDS)
    return () => clearInterval(timer)
  }, [path])
  last.current = load.body ?? last.current
  return { ...load, body: last.current }
}
