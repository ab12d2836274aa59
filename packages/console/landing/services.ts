import { signal } from '@preact/signals'
import { createApi } from '../shared/api/api.ts'

export type RunningService = {
  name: string
  title: string
  version: string
  url: string
  consoleUrl: string
  health: 'UP' | 'DOWN'
  logins: { username: string; password: string }[]
  apiKey: string | null
}

export type Suite = { production: boolean; dataFolder: string | null; services: RunningService[] }

const api = createApi({ headers: () => ({}) })

export const suite = signal<Suite | undefined>(undefined)
export const reachable = signal(true)

export async function readSuite(): Promise<void> {
  const reply = await api.get<Suite>('/api/services', { silent: true })
  reachable.value = reply.ok
  if (reply.ok) suite.value = reply.body
}
