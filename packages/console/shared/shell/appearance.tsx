import { effect, signal } from '@preact/signals'
import { Button } from '../components/button.tsx'

type Appearance = 'system' | 'light' | 'dark'

/** Kept in memory only: nothing is stored in the browser for it. */
const appearance = signal<Appearance>('system')

effect(() => {
  if (appearance.value === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = appearance.value
})

function nextAppearance(): void {
  const dark = matchMedia('(prefers-color-scheme: dark)').matches
  const order: Appearance[] = dark ? ['system', 'light', 'dark'] : ['system', 'dark', 'light']
  appearance.value = order[(order.indexOf(appearance.value) + 1) % 3] ?? 'system'
}

const NAMES = { system: 'same as the system', light: 'light', dark: 'dark' }

export function AppearanceButton() {
  const label = `Appearance: ${NAMES[appearance.value]}`
  return <Button kind="quiet" icon="theme" label={label} onClick={nextAppearance} />
}
