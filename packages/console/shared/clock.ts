import { computed, signal } from '@preact/signals'

/** The time, updated once a second, for everything that counts down. */
export const now = signal(Date.now())
setInterval(() => {
  now.value = Date.now()
}, 1000)

/** How far the clock of the service is ahead of the browser's. */
const ahead = signal(0)
const TOLERATED_MS = 5_000

/** The time of the service: what it says expires, expires by its clock. */
export const serverNow = computed(() => now.value + ahead.value)

/** `date`: a Date header, as it arrives. It has whole seconds, so small differences mean nothing. */
export function noteServerTime(date: string | null): void {
  const difference = Date.parse(date ?? '') - Date.now()
  if (Number.isNaN(difference)) return
  ahead.value = Math.abs(difference) < TOLERATED_MS ? 0 : difference
}
