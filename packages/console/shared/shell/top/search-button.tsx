import { Button } from '../../components/button.tsx'
import { paletteOpen } from '../visibility.ts'

/** Opens the search, and names the keys that do. */
export function SearchButton() {
  return (
    <Button
      class="search-button"
      kind="quiet"
      icon="search"
      onClick={() => {
        paletteOpen.value = true
      }}
    >
      <span class="search-label">Search</span>
      <span class="keys" aria-hidden="true">
        Ctrl K
      </span>
    </Button>
  )
}
