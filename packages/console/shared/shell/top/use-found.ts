import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Finder, Found } from '../definition.ts'

const PAUSE_MS = 200
const MIN_LENGTH = 2

/** What the finders return for a text: asked once it is no longer typed, and not shown once it has changed. */
export function useFound(
  finders: () => Finder[],
  typed: string,
): { found: Found[]; busy: boolean } {
  const found = useSignal<Found[]>([])
  const busy = useSignal(false)
  const text = typed.trim()
  useEffect(() => {
    found.value = []
    busy.value = text.length >= MIN_LENGTH
    if (!busy.value) return undefined
    const stop = new AbortController()
    const { signal } = stop
    const ask = async (finder: Finder) => {
      const entries = await finder(text, signal)
      if (!signal.aborted) found.value = [...found.value, ...entries]
    }
    const timer = setTimeout(async () => {
      await Promise.all(finders().map(ask))
      if (!signal.aborted) busy.value = false
    }, PAUSE_MS)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [text])
  return { found: found.value, busy: busy.value }
}
