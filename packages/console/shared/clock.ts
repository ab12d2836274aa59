import { signal } from '@preact/signals'

/** The time, updated once a second, for everything that counts down. */
export const now = signal(Date.now())
setInterval(() => {
  now.value = Date.now()
}, 1000)
