import { computed, type Signal, signal, useSignal, useSignalEffect } from '@preact/signals'

const hash = signal(location.hash)
addEventListener('hashchange', () => {
  if (location.hash === '' || location.hash.startsWith('#/')) hash.value = location.hash
})

/** The hash route: `#/payments/42` is `['payments', '42']`. */
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

/** An address typed by hand may not be decodable. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/**
 * View state of a list, kept in its history entry: going back finds the list as it was left, and a link
 * to the same page starts over.
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

/** Does what browsers do for documents: a new page starts at the top, and going back restores the position. */
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

/** The content may have to load before the page is long enough to scroll that far. */
function scrollTo(position: number, deadline: number): void {
  const part = scroller()
  if (!part) return
  part.scrollTop = position
  if (part.scrollTop < position && performance.now() < deadline)
    requestAnimationFrame(() => scrollTo(position, deadline))
}

/** The main part scrolls by itself, but on a small screen the whole window scrolls. */
function scroller(): Element | null {
  const main = document.querySelector('.main')
  const scrolls = main && getComputedStyle(main).overflowY !== 'visible'
  return scrolls ? main : document.scrollingElement
}
