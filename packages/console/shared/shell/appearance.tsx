import { effect, signal } from '@preact/signals'
import { Button } from '../components/button.tsx'
import { remember, remembered } from './remembered.ts'

type Appearance = 'system' | 'light' | 'dark'

const NAME = 'plinth-appearance'
const NAMES = { system: 'same as the system', light: 'light', dark: 'dark' }

const appearance = signal<Appearance>(rememberedAppearance())

function rememberedAppearance(): Appearance {
  const kept = remembered(NAME)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

effect(() => {
  remember(NAME, appearance.value)
  if (appearance.value === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = appearance.value
})

export function appearanceActions() {
  return Object.entries(NAMES).map(([name, title]) => ({
    title: `Appearance: ${title}`,
    kind: 'setting',
    run: () => {
      appearance.value = name as Appearance
    },
  }))
}

function nextAppearance(): void {
  const dark = matchMedia('(prefers-color-scheme: dark)').matches
  const order: Appearance[] = dark ? ['system', 'light', 'dark'] : ['system', 'dark', 'light']
  appearance.value = order[(order.indexOf(appearance.value) + 1) % 3] ?? 'system'
}

export function AppearanceButton() {
  const label = `Appearance: ${NAMES[appearance.value]}`
  return <Button kind="quiet" icon="theme" label={label} onClick={nextAppearance} />
}
