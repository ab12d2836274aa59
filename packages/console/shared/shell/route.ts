import { computed, signal } from '@preact/signals'

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
