import { signal } from '@preact/signals'
import { createApi } from '../shared/api/api.ts'

export type RunningService = {
  name: string
  title: string
  version: string
  url: string
  /** Where this address serves it. */
  path: string
  consoleUrl: string
  pages: { title: string; href: string }[]
  healthy: boolean
  description: string
  logins: { username: string; password: string }[]
  apiKey: string | null
}

const api = createApi<{ 'GET /api/services': RunningService[] }>({ headers: () => ({}) })

export const services = signal<RunningService[] | undefined>(undefined)
export const reachable = signal(true)

export async function readServices(): Promise<void> {
  const reply = await api.get('/api/services', { silent: true })
  reachable.value = reply.ok
  if (reply.ok) services.value = reply.body
}

/** Whether the Health page is served here: in production it is on the management listener. */
export const healthShown = signal(false)

export async function findHealthPage(): Promise<void> {
  const reply = await api.send({ method: 'HEAD', path: '/health/index.html', silent: true })
  healthShown.value = reply.ok
}
