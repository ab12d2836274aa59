import { effect, signal } from '@preact/signals'
import { remember, remembered } from './remembered.ts'

/** Which overlays are open; on wide screens the page list and the inspector are part of the page instead. */
export const menuOpen = signal(false)
export const inspectorOpen = signal(false)
export const paletteOpen = signal(false)

const NAME = 'plinth-request-panel'
const NARROWEST = 240
const WIDEST = 900

type Panel = { shown: boolean; width: number }

/** The request panel on wide screens. */
export const panel = signal<Panel>(rememberedPanel())

export function resizePanel(width: number): void {
  const fits = Math.round(Math.min(WIDEST, Math.max(NARROWEST, width)))
  panel.value = { ...panel.value, width: fits }
}

effect(() => {
  const { shown, width } = panel.value
  document.documentElement.style.setProperty('--panel', shown ? `${width}px` : '0px')
  remember(NAME, JSON.stringify({ shown, width }))
})

function rememberedPanel(): Panel {
  try {
    const { shown, width } = JSON.parse(remembered(NAME))
    if (typeof shown === 'boolean' && width >= NARROWEST && width <= WIDEST) return { shown, width }
  } catch {
    // Nothing stored, or not by us.
  }
  return { shown: true, width: 376 }
}
