import { appearance, nextAppearance } from '../appearance.ts'
import { Button } from '../parts/button.tsx'

const NAMES = { system: 'as the system', light: 'light', dark: 'dark' }

export function AppearanceButton() {
  const label = `Appearance: ${NAMES[appearance.value]}`
  return <Button kind="quiet" icon="theme" label={label} onClick={nextAppearance} />
}
