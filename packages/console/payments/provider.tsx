import { computed, signal } from '@preact/signals'
import { api } from './api.ts'

type Configuration = { providerApiConfigured: boolean; webhookConfigured: boolean }

export const configuration = signal<Configuration | undefined>(undefined)

/** Where the sandbox provider is; absent when a real provider is behind the service. */
export const sandboxUrl = signal<string | undefined>(undefined)
const inSandbox = computed(() => sandboxUrl.value !== undefined)

export async function readConfiguration(): Promise<void> {
  const reply = await api.get<Configuration>('/api/configuration')
  if (reply.ok) configuration.value = reply.body
}

/** The console is served with a note on what stands behind it. */
export async function readProvider(): Promise<void> {
  const reply = await api.get<{ sandboxUrl: string | null }>('/api-test/provider.json', {
    silent: true,
  })
  if (reply.ok) sandboxUrl.value = reply.body.sandboxUrl ?? undefined
}

/** The sandbox serves the hosted page itself: its address is the one a browser can reach. */
export function noticeCheckoutUrl(checkoutUrl: string): void {
  if (inSandbox.value) sandboxUrl.value = new URL(checkoutUrl).origin
}

export function SandboxMark() {
  if (!inSandbox.value) return null
  return <strong class="sandbox-mark">SANDBOX</strong>
}
