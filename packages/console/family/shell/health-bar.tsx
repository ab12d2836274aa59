import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Api } from '../api/api.ts'
import { HealthBadge } from '../health-page.tsx'
import { InspectorButton } from './inspector-button.tsx'

/** The bottom bar of consoles without a session: is the service there? */
export function HealthBar({ api, note }: { api: Api; note: ComponentChildren }) {
  const status = useSignal<string | undefined>(undefined)
  useEffect(() => {
    const check = async () => {
      const reply = await api.get('/actuator/health', { open: true, silent: true })
      status.value = reply.status === 0 ? 'NOT REACHABLE' : String(reply.body?.status ?? 'DOWN')
    }
    check()
    const timer = setInterval(check, 15_000)
    return () => clearInterval(timer)
  }, [api, status])
  return (
    <>
      <span class="who">
        Health {status.value ? <HealthBadge status={status.value} /> : <span class="soft">…</span>}
      </span>
      {note}
      <span class="space" />
      <InspectorButton />
    </>
  )
}
