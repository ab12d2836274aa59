import { signal } from '@preact/signals'

/** Which panels are open; on wide screens the page list and the inspector are always visible. */
export const menuOpen = signal(false)
export const inspectorOpen = signal(false)
export const paletteOpen = signal(false)
