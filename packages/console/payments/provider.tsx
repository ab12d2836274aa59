import type { PaymentsApi } from '@plinth/client'
import { signal } from '@preact/signals'
import { Icon } from '../shared/components/icon.tsx'
import { api } from './api.ts'

export const configuration = signal<PaymentsApi.Configuration | undefined>(undefined)

/** The page of the sandbox provider; undefined if the service uses a real provider. */
export const sandboxPage = signal<string | undefined>(undefined)

export async function readConfiguration(): Promise<void> {
  const reply = await api.get('/api/configuration')
  if (reply.ok) configuration.value = reply.body
}

export async function readProvider(): Promise<void> {
  const reply = await api.get('/api-test/provider.json', { silent: true })
  if (reply.ok && reply.body.sandboxUrl) sandboxPage.value = `${reply.body.sandboxUrl}/sandbox/`
}

/** A sandbox must never look real. */
export function SandboxMark() {
  if (!sandboxPage.value) return null
  return (
    <a class="sandbox-mark" href={sandboxPage.value} target="_blank" rel="noopener noreferrer">
      <strong>SANDBOX</strong> <Icon name="open" />
      <span class="visually-hidden"> provider (opens in a new tab)</span>
    </a>
  )
}
