import { baseUrl } from '../../api/base-url.ts'
import { Button } from '../../components/button.tsx'
import { PlinthMark } from '../../components/icon.tsx'
import { AppearanceButton } from '../appearance.tsx'
import type { ConsoleDefinition } from '../definition.ts'
import { menuOpen } from '../visibility.ts'
import { SearchButton } from './search-button.tsx'
import { Switcher } from './switcher.tsx'

export function TopBar({ definition }: { definition: ConsoleDefinition }) {
  return (
    <header class="top">
      <Button
        class="menu"
        kind="quiet"
        icon="menu"
        label="Pages"
        expanded={menuOpen.value}
        onClick={() => {
          menuOpen.value = !menuOpen.value
        }}
      />
      <a class="row brand" href="#/">
        <PlinthMark />
        {definition.title}
      </a>
      <Switcher />
      {definition.mark}
      <span class="where mono">{baseUrl}</span>
      <span class="space" />
      <SearchButton />
      <AppearanceButton />
    </header>
  )
}
