import { HealthPage } from '../health.tsx'
import type { ConsoleAction, ConsolePage } from '../shell/definition.ts'
import { facts } from '../shell/facts.ts'
import { AuditPage } from './administration/audit-page.tsx'
import { UsersPage } from './administration/users-page.tsx'
import { ProfilePage } from './profile/profile-page.tsx'
import { DEMO_ACCOUNTS, type Session } from './session/session.ts'
import { SessionPage } from './session/session-page.tsx'

/** The pages about the caller, for every console of a service with accounts. */
export function ownPages(session: Session): ConsolePage[] {
  return [
    {
      path: 'session',
      title: 'Session',
      icon: 'session',
      component: () => <SessionPage session={session} />,
    },
    {
      path: 'profile',
      title: 'Profile',
      icon: 'person',
      component: () => <ProfilePage session={session} />,
    },
  ]
}

/** The pages for administrators. */
export function administrationPages(session: Session): ConsolePage[] {
  return [
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
  ]
}

export function signInActions(session: Session): ConsoleAction[] {
  if (!facts.value.demoAccounts) return []
  return DEMO_ACCOUNTS.map(({ username, password }) => ({
    title: `Sign in as ${username}`,
    run: () => session.signIn({ username, password }),
  }))
}
