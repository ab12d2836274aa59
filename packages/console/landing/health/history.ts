import { signal } from '@preact/signals'
import { createApi, type Reply } from '../../shared/api/api.ts'

export type ServicePoint = {
  rate: number
  failures: number
  p50: number | null
  p99: number | null
}

type Disk = { freeBytes: number; sizeBytes: number }

export type Point = {
  at: number
  services: Record<string, ServicePoint>
  queues: Record<string, number>
  disks: Record<string, Disk>
}

/** The token of the management listener, if one is set; kept in memory only. */
const token = signal('')

const api = createApi<{ 'GET /api/history': Point[] }>({
  headers: (): Record<string, string> =>
    token.value === '' ? {} : { Authorization: `Bearer ${token.value}` },
})

export const points = signal<Point[] | undefined>(undefined)
export const state = signal<'loading' | 'shown' | 'locked' | 'unreachable'>('loading')

export async function readHistory(): Promise<Reply<Point[]>> {
  const reply = await api.get('/api/history', { silent: true })
  if (reply.ok) {
    points.value = reply.body
    state.value = 'shown'
  } else state.value = reply.status === 401 ? 'locked' : 'unreachable'
  return reply
}

export function unlock(text: string): Promise<Reply> {
  token.value = text.trim()
  return readHistory()
}

/** One line of a plot: a value for each point, or null where there is none. */
export type Line = (number | null)[]

export function lineOf(all: Point[], value: (point: Point) => number | null | undefined): Line {
  return all.map((point) => value(point) ?? null)
}

/** Folders with the same disk size are taken to share one disk: one plot, named after all of them. */
export function disksOf(all: Point[]): { names: string[]; sizeBytes: number; free: Line }[] {
  const disks = Object.entries(all.at(-1)?.disks ?? {})
  const bySize = Map.groupBy(disks, ([, { sizeBytes }]) => sizeBytes)
  return [...bySize].map(([sizeBytes, same]) => {
    const names = same.map(([name]) => name)
    const freeAt = ({ disks: known }: Point) =>
      Math.min(...names.map((name) => known[name]?.freeBytes ?? Number.POSITIVE_INFINITY))
    const free = lineOf(all, (point) => (Number.isFinite(freeAt(point)) ? freeAt(point) : null))
    return { names, sizeBytes, free }
  })
}
