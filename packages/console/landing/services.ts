import { signal } from '@preact/signals'
import { createApi } from '../shared/api/api.ts'

export type RunningService = {
  name: string
  title: string
  version: string
  url: string
  consoleUrl: string
  healthy: boolean
  description: string
  logins: { username: string; password: string }[]
  apiKey: string | null
}

const api = createApi({ headers: () => ({}) })

export const services = signal<RunningService[] | undefined>(undefined)
export const reachable = signal(true)

export async function readServices(): Promise<void> {
  const reply = await api.get<RunningService[]>('/api/services', { silent: true })
  reachable.value = reply.ok
  if (reply.ok) services.value = reply.body
}
