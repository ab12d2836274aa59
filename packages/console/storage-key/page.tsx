import { HealthBar } from '../shared/health.tsx'
import { startConsole } from '../shared/shell/shell.tsx'
import { api } from './store.ts'
import { TesterPage } from './tester-page.tsx'

startConsole({
  title: 'Key storage',
  sessionBar: (
    <HealthBar
      api={api}
      note={<span class="soft long">The key stays in this page’s memory.</span>}
    />
  ),
  pages: [{ path: '', title: 'Files', icon: 'file', component: TesterPage }],
})
