import type { Page } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { type PageNumber, pageParameter, parameter } from '../shell/route.ts'
import type { Reply } from './api.ts'

/**
 * Runs one call at a time on demand and keeps its last reply. `after` runs before the reply is
 * shown: it reloads what the call has changed.
 */
export function useAction<Arguments extends unknown[], Body>(
  call: (...values: Arguments) => Promise<Reply<Body> | undefined>,
  after?: (reply: Reply<Body> | undefined) => unknown,
) {
  const busy = useSignal(false)
  const reply = useSignal<Reply<Body> | undefined>(undefined)
  const successes = useSignal(0)

  async function run(...values: Arguments): Promise<Reply<Body> | undefined> {
    if (busy.value) return undefined
    busy.value = true
    try {
      const answer = await call(...values)
      await after?.(answer)
      reply.value = answer
      if (answer?.ok) successes.value += 1
      return answer
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
    /** Passed as the `round` of a form, it clears the fields after each success. */
    successes: successes.value,
  }
}

/** Loads when the page opens and whenever one of `inputs` changes. */
export function useLoad<Body>(call: () => Promise<Reply<Body>>, inputs: unknown[] = []) {
  const reply = useSignal<Reply<Body> | undefined>(undefined)
  const asked = useRef(0)
  const outdated = useRef(0)

  /** Replies can overtake each other: one that was asked for before the one on the page is not shown. */
  async function reload(): Promise<void> {
    asked.current += 1
    const question = asked.current
    const answer = await call()
    if (question <= outdated.current) return
    outdated.current = question
    reply.value = answer
  }

  useEffect(() => {
    outdated.current = asked.current
    reply.value = undefined
    reload()
  }, inputs)

  return {
    reload,
    loading: reply.value === undefined,
    body: reply.value?.ok ? reply.value.body : undefined,
    refusal: reply.value?.ok ? undefined : reply.value,
  }
}

/**
 * Loads one page of a list at a time; setting `page` or `sort` loads another. Both are in the address. Lists that
 * share one console page each need their own `place` in it.
 */
export function usePages<Row>(
  call: (page: number, sort: string) => Promise<Reply<Page<Row>>>,
  inputs: unknown[] = [],
  { place = '', sort: usual = '' } = {},
) {
  const page = pageParameter(`${place}page`)
  const sort = parameter(`${place}sort`, usual)
  const { body, ...load } = useLoad(
    () => call(page.value, sort.value),
    [page.value, sort.value, ...inputs],
  )
  const known = useRef<Page<Row> | undefined>(undefined)
  // While another page loads, the totals stay, and with them the button that has the focus.
  if (!load.loading) known.current = body
  const { totalPages = 0, totalElements = 0 } = known.current ?? {}
  useExistingPage(page, body && totalPages)
  return {
    ...load,
    body: body?.content,
    page,
    totalPages,
    totalElements,
    ...(usual && { sort }),
  }
}

/** Steps back to the last page if the list has become shorter; `totalPages` is undefined while it loads. */
export function useExistingPage(page: PageNumber, totalPages: number | undefined): void {
  useEffect(() => {
    if (totalPages !== undefined && page.value >= totalPages)
      page.value = Math.max(0, totalPages - 1)
  })
}
