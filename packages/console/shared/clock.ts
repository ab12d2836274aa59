import { computed, signal } from '@preact/signals'
import { serverAheadMs } from './api/transport.ts'

/** The time, updated once a second, for everything that counts down. */
export const now = signal(Date.now())
setInterval(() => {
  now.value = Date.now()
}, 1000)

/** The time of the service: what it says expires, expires by its clock. */
export const serverNow = computed(() => now.value + serverAheadMs.value)
