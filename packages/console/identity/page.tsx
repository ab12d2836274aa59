import { AuditPage } from '../family/account/audit-page.tsx'
import { ProfilePage } from '../family/account/profile-page.tsx'
import { SessionPage } from '../family/account/session-page.tsx'
import { DEMO_ACCOUNTS } from '../family/account/sign-in-card.tsx'
import { UsersPage } from '../family/account/users-page.tsx'
import { HealthPage } from '../family/health-page.tsx'
import { SessionBar } from '../family/shell/session-bar.tsx'
import { startConsole } from '../family/shell/start-console.tsx'
import { OverviewPage } from './overview-page.tsx'
import { PasskeysPage } from './passkeys/passkeys-page.tsx'
import { session } from './session.ts'

startConsole({
  title: 'Identity',
  sessionBar: <SessionBar session={session} signInPath="session" />,
  actions: () => [
    ...DEMO_ACCOUNTS.map(({ username, password }) => ({
      title: `Sign in as ${username}`,
      run: () => session.signIn(username, password),
    })),
    { title: 'Refresh the token pair', run: session.refresh },
    { title: 'Log out', run: session.logOut },
  ],
  pages: [
    { path: '', title: 'Overview', icon: 'home', component: OverviewPage },
    {
      path: 'session',
      title: 'Session',
      icon: 'session',
      component: () => <SessionPage session={session} passwordMinimum={12} />,
    },
    {
      path: 'profile',
      title: 'Profile',
      icon: 'person',
      component: () => <ProfilePage session={session} passwordMinimum={12} />,
    },
    { path: 'passkeys', title: 'Passkeys', icon: 'passkey', component: PasskeysPage },
    {
      path: 'users',
      title: 'Users',
      icon: 'people',
      note: 'admin',
      component: () => <UsersPage session={session} />,
    },
    {
      path: 'audit',
      title: 'Audit',
      icon: 'scroll',
      note: 'admin',
      component: () => <AuditPage session={session} />,
    },
    {
      path: 'health',
      title: 'Health',
      icon: 'pulse',
      component: () => <HealthPage api={session.api} />,
    },
  ],
})
