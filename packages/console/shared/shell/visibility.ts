import { effect, signal } from '@preact/signals'

/** Which overlays are open; on wide screens the page list and the inspector are part of the page instead. */
export const menuOpen = signal(false)
export const inspectorOpen = signal(false)
export const paletteOpen = signal(false)

const NAME = 'plinth-request-panel'
const NARROWEST = 240
const WIDEST = 900

type Panel = { shown: boolean; width: number }

/** The request panel on wide screens. Its state is no secret, so the browser may store it. */
export const panel = signal<Panel>(rememberedPanel())

export function resizePanel(width: number): void {
  const fits = Math.round(Math.min(WIDEST, Math.max(NARROWEST, width)))
  panel.value = { ...panel.value, width: fits }
}

effect(() => {
  const { shown, width } = panel.value
  document.documentElement.style.setProperty('--panel', shown ? `${width}px` : '0px')
  try {
    localStorage.setItem(NAME, JSON.stringify({ shown, width }))
  } catch {
    // The browser allows this site no storage, so the next page starts with the default.
  }
})

function rememberedPanel(): Panel {
  try {
    const { shown, width } = JSON.parse(localStorage.getItem(NAME) ?? '')
    if (typeof shown === 'boolean' && width >= NARROWEST && width <= WIDEST) return { shown, width }
  } catch {
    // Nothing stored, or not by us.
  }
  return { shown: true, width: 376 }
}
