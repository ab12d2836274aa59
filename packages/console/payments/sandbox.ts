import { computed, signal } from '@preact/signals'
import { api } from './api.ts'

type Configuration = { providerApiConfigured: boolean; webhookConfigured: boolean }

export const configuration = signal<Configuration | undefined>(undefined)

/** Where the sandbox provider is; absent when a real provider is behind the service. */
export const sandboxUrl = signal<string | undefined>(undefined)
export const inSandbox = computed(() => sandboxUrl.value !== undefined)

export async function readConfiguration(): Promise<void> {
  const reply = await api.get<Configuration>('/api/configuration')
  if (reply.ok) configuration.value = reply.body
}

/** The sandbox serves the hosted page itself, so the address of that page tells where it is. */
export function noticeCheckoutUrl(checkoutUrl: string): void {
  const { origin, pathname } = new URL(checkoutUrl)
  if (/sandbox/.test(pathname)) sandboxUrl.value = origin
}
