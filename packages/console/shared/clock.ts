import { signal } from '@preact/signals'

/** The time, once a second: everything that counts down reads it. */
export const now = signal(Date.now())
setInterval(() => {
  now.value = Date.now()
}, 1000)
