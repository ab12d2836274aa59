import { computed, type Signal, signal, useSignal, useSignalEffect } from '@preact/signals'

const hash = signal(location.hash)
addEventListener('hashchange', () => {
  if (location.hash === '' || location.hash.startsWith('#/')) hash.value = location.hash
})

/** The address inside the page: `#/payments/42` is `['payments', '42']`. */
export const route = computed(
  () =>
    hash.value
      .replace(/^#?\/?/, '')
      .split('?')[0]
      ?.split('/')
      .map(decoded)
      .filter(Boolean) ?? [],
)

export function goTo(path: string): void {
  location.hash = `#/${path}`
}

/** An address may have been typed by hand. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/**
 * What a page shows of a list, kept with its entry of the history: the way back finds it as it was
 * left, and a link to the same page starts anew.
 */
export function useKept<Value>(name: string, initial: Value): Signal<Value> {
  const kept = useSignal<Value>(history.state?.[name] ?? initial)
  useSignalEffect(() => {
    const { value } = kept
    if (value !== (history.state?.[name] ?? initial))
      history.replaceState({ ...history.state, [name]: value }, '')
  })
  return kept
}

const positions = new Map<string, number>()
const PATIENCE_MS = 1_500

type Navigate = Event & { navigationType: string }

/** What browsers do for documents: another page starts at its top, the way back where it was left. */
export function keepScroll(): void {
  const { navigation } = window as { navigation?: EventTarget }
  let wanted = 0
  navigation?.addEventListener('navigate', (event) => {
    positions.set(location.hash, scroller()?.scrollTop ?? 0)
    const isBack = (event as Navigate).navigationType === 'traverse'
    wanted = isBack ? Number.NaN : 0
  })
  addEventListener('hashchange', () => {
    const position = Number.isNaN(wanted) ? (positions.get(location.hash) ?? 0) : wanted
    scrollTo(position, performance.now() + PATIENCE_MS)
  })
}

/** What the page shows may have to be loaded before it is long enough. */
function scrollTo(position: number, deadline: number): void {
  const part = scroller()
  if (!part) return
  part.scrollTop = position
  if (part.scrollTop < position && performance.now() < deadline)
    requestAnimationFrame(() => scrollTo(position, deadline))
}

/** The page scrolls in its part of the window, or on a small screen with the window. */
function scroller(): Element | null {
  const main = document.querySelector('.main')
  const scrolls = main && getComputedStyle(main).overflowY !== 'visible'
  return scrolls ? main : document.scrollingElement
}
