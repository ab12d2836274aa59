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

/** What follows the path, such as the search, order and page of a list: `#/users?contains=ada&page=2`. */
const parameters = computed(() => new URLSearchParams(hash.value.split('?')[1]))

export function goTo(path: string): void {
  location.hash = `#/${path}`
}

/** Changes the address without leaving the page; an empty value is left out. */
function setParameters(changes: Record<string, string>): void {
  // The user has just gone elsewhere, and this page is still there: it must not take them back.
  if (location.hash.startsWith('#/') && pathOf(location.hash) !== pathOf(hash.value)) return
  const next = new URLSearchParams(parameters.value)
  for (const [name, value] of Object.entries(changes))
    if (value) next.set(name, value)
    else next.delete(name)
  const path = pathOf(hash.value)
  history.replaceState(history.state, '', next.size > 0 ? `${path}?${next}` : path)
  hash.value = location.hash
}

function pathOf(address: string): string {
  return address.split('?')[0] || '#/'
}

export type Parameter = { value: string }

/** View state that is part of the address: it survives a reload, and a link to the page has it. */
export function parameter(name: string, initial = ''): Parameter {
  return {
    get value() {
      return parameters.value.get(name) ?? initial
    },
    set value(value) {
      setParameters({ [name]: value === initial ? '' : value })
    },
  }
}

export type PageNumber = { value: number }

/** Counted from 0, and from 1 in the address. */
export function pageParameter(name: string): PageNumber {
  const page = parameter(name)
  return {
    get value() {
      return Math.max(0, (Number.parseInt(page.value, 10) || 1) - 1)
    },
    set value(number) {
      page.value = number === 0 ? '' : String(number + 1)
    },
  }
}

/**
 * A query with `q` as what names contain. A field of that name would hide the method `contains` of its form, which
 * programs call that look for elements.
 */
export function containing({ q, ...others }: Record<string, string>): string {
  return new URLSearchParams({ ...(q && { contains: q }), ...others }).toString()
}

/** The filters of a list. Others begin with the first page and the usual order. */
export function filtersOf(names: string[]) {
  const present = names.map((name) => [name, parameter(name).value] as const)
  return {
    values: Object.fromEntries(present.filter(([, value]) => value !== '')),
    apply: (values: Record<string, string>) => {
      const cleared = Object.fromEntries([...names, 'page', 'sort'].map((name) => [name, '']))
      setParameters({ ...cleared, ...values })
    },
  }
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
