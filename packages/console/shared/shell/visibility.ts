import { signal } from '@preact/signals'

/** What is unfolded; on wide screens the list of pages and the inspector are always there. */
export const menuOpen = signal(false)
export const inspectorOpen = signal(false)
export const paletteOpen = signal(false)
