import type { ComponentType } from 'preact'
import { HealthPage } from '../health.tsx'
import type { ConsoleAction, ConsolePage, Finder } from '../shell/definition.ts'
import { facts } from '../shell/facts.ts'
import { later } from '../shell/later.tsx'
import { endpointsIn, keysIn, usersIn } from '../shell/records.ts'
import type { UserPageParts } from './administration/users-page.tsx'
import { DEMO_ACCOUNTS, type Session } from './session/session.ts'
import { SessionPage } from './session/session-page.tsx'

/** The pages about the caller's own account, for every service with accounts. `waysIn` has more ways to sign in. */
export function ownPages(
  session: Session,
  { more, waysIn }: { more?: ComponentType; waysIn?: ComponentType } = {},
): ConsolePage[] {
  const [More, WaysIn] = [more, waysIn]
  return [
    {
      path: 'session',
      get title() {
        return session.claims.value ? 'Session' : 'Sign in'
      },
      icon: 'session',
      component: () => <SessionPage session={session}>{WaysIn && <WaysIn />}</SessionPage>,
    },
    {
      path: 'profile',
      title: 'Profile',
      icon: 'person',
      component: later(async () => {
        const { ProfilePage } = await import('./profile/profile-page.tsx')
        return () => <ProfilePage session={session}>{More && <More />}</ProfilePage>
      }),
    },
  ]
}

/** Most people never open these. */
const administration = () => import('./administration/pages.tsx')

/** The pages for administrators. */
export function administrationPages(session: Session, users: UserPageParts = {}): ConsolePage[] {
  return [
    {
      path: 'users',
      title: 'Users',
      icon: 'people',
      note: 'admin',
      component: later(async () => {
        const { UsersPage } = await administration()
        return () => <UsersPage session={session} {...users} />
      }),
    },
    {
      path: 'keys',
      title: 'Service keys',
      icon: 'key',
      note: 'admin',
      component: later(async () => {
        const { KeysPage } = await administration()
        return () => <KeysPage session={session} />
      }),
    },
    {
      path: 'events',
      title: 'Events',
      icon: 'wires',
      note: 'admin',
      component: later(async () => {
        const { EventsPage } = await administration()
        return () => <EventsPage session={session} />
      }),
    },
    {
      path: 'audit',
      title: 'Audit',
      icon: 'scroll',
      note: 'admin',
      component: later(async () => {
        const { AuditPage } = await administration()
        return () => <AuditPage session={session} />
      }),
    },
    {
      path: 'health',
      title: 'Health',
      icon: 'pulse',
      component: () => <HealthPage api={session.api} />,
    },
  ]
}

/** What administrators find: users, keys and endpoints, and more of this service. */
export function accountFinders(session: Session, ...more: Finder[]): Finder[] {
  if (!session.isAdmin.value) return []
  return [usersIn(session), ...more, keysIn(session), endpointsIn(session)]
}

export function signInActions(session: Session): ConsoleAction[] {
  if (!facts.value.demoAccounts) return []
  return DEMO_ACCOUNTS.map(({ username, password }) => ({
    title: `Sign in as ${username}`,
    run: () => session.signIn({ username, password }),
  }))
}
