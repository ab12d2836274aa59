import { signal } from '@preact/signals'
import { createApi } from '../shared/api/api.ts'
import { baseUrl } from '../shared/api/base-url.ts'

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

/** The address of a console, with the port that leads back here if that is all it takes. */
export function consoleAddress({ consoleUrl }: RunningService, page = ''): string {
  const atRoot = baseUrl === location.origin
  const back = atRoot && location.port ? `?suite=${location.port}` : ''
  return `${consoleUrl}${back}${page}`
}
