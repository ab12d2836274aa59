import type { Reply } from '../../shared/api/api.ts'
import { api } from '../api.ts'

/** The service hands these on to the sandbox: the page may call no other origin. */
const BASE = '/api-test/sandbox'

export type Clock = { now: string; offsetSeconds: number }

export type Fault = {
  id: number
  kind: string
  route: string
  remaining: number | null
  delayMs: number | null
}

type GivenFault = { kind: string; route: string; times: number | null; delayMs?: number }

export type Switches = {
  paused: boolean
  drop: string[]
  duplicates: number
  signWith: string
}

export const readClock = (): Promise<Reply<Clock>> => api.get(`${BASE}/clock`)
export const advanceClock = (seconds: number): Promise<Reply<Clock>> =>
  api.post(`${BASE}/clock/advance`, { seconds })
export const resetClock = (): Promise<Reply<Clock>> => api.delete(`${BASE}/clock`)

export const readFaults = (): Promise<Reply<{ faults: Fault[] }>> => api.get(`${BASE}/faults`)
export const addFault = (fault: GivenFault): Promise<Reply> => api.post(`${BASE}/faults`, fault)
export const removeFault = (id: number): Promise<Reply> => api.delete(`${BASE}/faults/${id}`)
export const removeFaults = (): Promise<Reply> => api.delete(`${BASE}/faults`)

export const readSwitches = (): Promise<Reply<Switches>> => api.get(`${BASE}/switches`)
export const turnSwitches = (switches: Partial<Switches>): Promise<Reply<Switches>> =>
  api.patch(`${BASE}/switches`, switches)
export const resetSwitches = (): Promise<Reply<Switches>> => api.delete(`${BASE}/switches`)
