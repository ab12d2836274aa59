import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Reply } from './api.ts'

/** Runs one call at a time on demand and keeps its last reply. */
export function useAction<Arguments extends unknown[]>(
  call: (...values: Arguments) => Promise<Reply | undefined>,
) {
  const busy = useSignal(false)
  const reply = useSignal<Reply | undefined>(undefined)

  async function run(...values: Arguments): Promise<Reply | undefined> {
    if (busy.value) return undefined
    busy.value = true
    try {
      reply.value = await call(...values)
      return reply.value
    } finally {
      busy.value = false
    }
  }

  return {
    run,
    reset: () => {
      reply.value = undefined
    },
    busy: busy.value,
    reply: reply.value,
    refusal: reply.value?.ok ? undefined : reply.value,
  }
}

/** Loads when the page opens and whenever one of `inputs` changes. */
export function useLoad<Body>(call: () => Promise<Reply<Body>>, inputs: unknown[] = []) {
  const reply = useSignal<Reply<Body> | undefined>(undefined)

  async function reload(): Promise<void> {
    reply.value = await call()
  }

  useEffect(() => {
    reply.value = undefined
    reload()
  }, inputs)

  return {
    reload,
    loading: reply.value === undefined,
    body: reply.value?.ok ? reply.value.body : undefined,
    headers: reply.value?.headers ?? {},
    refusal: reply.value && !reply.value.ok ? (reply.value as Reply) : undefined,
  }
}
