import type { Brand, IdentityApi } from '@plinth/client'
import { signal } from '@preact/signals'
import { createApi } from '../../shared/api/api.ts'

export const api = createApi<IdentityApi.Replies>({ headers: () => ({}) })

/** Set once a new password was chosen on this page. */
export const hasNewPassword = signal(false)

/** The name, colour and logo of the application, and its minimum password length. */
export const brand = signal<Brand | undefined>(undefined)

export async function readBrand(): Promise<void> {
  const { ok, body } = await api.get('/account/brand', { open: true })
  if (!ok) return
  brand.value = body
  document.title = body.name
  if (body.colour) paint(body.colour)
}

/** Text on the colour is white or black, whichever is readable. */
function paint(colour: string): void {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) =>
    Number.parseInt(colour.slice(at, at + 2), 16),
  )
  const brightness = (red * 299 + green * 587 + blue * 114) / 1000
  const letters = ['#ffffff', '#16171b']
  if (brightness > 140) letters.reverse()
  const [chosen = '', other = ''] = letters
  const { style } = document.documentElement
  style.setProperty('--accent', colour)
  style.setProperty('--on-accent', chosen)
  style.setProperty('--away-from-letters', other)
}

export type Step =
  | 'home'
  | 'forgot'
  | 'sent'
  | 'resend'
  | 'reset'
  | 'verify'
  | 'email'
  | 'undo'
  | 'keep'
  | 'alarm'
  | 'export'

const LINKS: Step[] = ['reset', 'verify', 'email', 'undo', 'keep', 'alarm', 'export']

/** Pages that need no token; those opened from a mail ask for its code instead. */
const OPEN: Step[] = ['forgot', 'resend', 'reset', 'verify', 'email']

/** The step that the URL fragment asks for. A token in the fragment is never sent to the server by the browser. */
export function stepOf(fragment: string): { step: Step; token: string } {
  const [step = '', token = ''] = fragment.replace(/^#/, '').split('=')
  const steps = token === '' ? OPEN : LINKS
  return { step: steps.find((name) => name === step) ?? 'home', token }
}
