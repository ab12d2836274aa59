import { ABOUT_KEYS, ServiceKeys } from '../shared/account/administration/service-keys.tsx'
import { Notice, Page } from '../shared/components/page.tsx'
import { HealthBar } from '../shared/health.tsx'
import type { Finder } from '../shared/shell/definition.ts'
import { facts } from '../shared/shell/facts.ts'
import { inReference } from '../shared/shell/finders.ts'
import { keysIn } from '../shared/shell/records.ts'
import { goTo } from '../shared/shell/route.ts'
import { startConsole } from '../shared/shell/shell.tsx'
import { api, names, selectedName } from './store.ts'
import { TesterPage } from './tester-page.tsx'

function KeysPage() {
  const { serviceKeys } = facts.value
  return (
    <Page title="Service keys" about={ABOUT_KEYS}>
      {serviceKeys && <ServiceKeys api={api} />}
      {serviceKeys === false && (
        <Notice>
          <p>
            This server has no database for keys. Its operator can set one with{' '}
            <code>STORAGE_KEY_DATABASE_URL</code>; until then the configured key is the only one.
          </p>
        </Notice>
      )}
    </Page>
  )
}

const FILES: Finder = async (text) =>
  (names.value ?? [])
    .filter((name) => name.includes(text.toLowerCase()))
    .slice(0, 5)
    .map((title) => ({
      title,
      kind: 'file',
      run: () => {
        goTo('')
        selectedName.value = title
      },
    }))

const KEYS = keysIn({ api })

const operations = inReference()

startConsole({
  title: 'Key storage',
  sessionBar: (
    <HealthBar
      api={api}
      note={<span class="soft long">The key stays in this page’s memory.</span>}
    />
  ),
  finders: () => [FILES, ...(facts.value.serviceKeys ? [KEYS] : []), operations],
  pages: [
    { path: '', title: 'Files', icon: 'file', component: TesterPage },
    { path: 'keys', title: 'Service keys', icon: 'key', component: KeysPage },
  ],
})
