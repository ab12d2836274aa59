import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { appearanceActions } from '../../shared/shell/appearance.tsx'
import type { Found } from '../../shared/shell/definition.ts'
import { Palette } from '../../shared/shell/top/palette.tsx'
import { paletteOpen } from '../../shared/shell/visibility.ts'
import { services } from '../services.ts'

/** What it finds is a program of its own, loaded when someone opens the search. */
const load = () => import('./entries.ts')

/** The search of the consoles, over all of them. */
export function Search({ actions }: { actions: Found[] }) {
  const loaded = useSignal<Awaited<ReturnType<typeof load>> | 'failed' | undefined>(undefined)
  useEffect(() => {
    if (!paletteOpen.value || typeof loaded.value === 'object') return
    load().then(
      (program) => {
        loaded.value = program
      },
      () => {
        loaded.value = 'failed'
      },
    )
  }, [paletteOpen.value, loaded])
  const program = typeof loaded.value === 'object' ? loaded.value : undefined
  const running = services.value ?? []
  return (
    <Palette
      label="Search all services"
      isLoading={loaded.value === undefined}
      entries={() => [...(program?.entriesOf(running) ?? []), ...actions, ...appearanceActions()]}
      finders={() => program?.findersOf(running) ?? []}
    />
  )
}
