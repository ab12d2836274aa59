import type { PageOfUsers } from '@plinth/client'
import type { ComponentType } from 'preact'
import { Page } from '../components/page.tsx'
import { HealthPage } from '../health.tsx'
import type { ConsoleAction, ConsolePage, Finder } from '../shell/definition.ts'
import { facts } from '../shell/facts.ts'
import { inAccess, inList } from '../shell/finders.ts'
import { AuditPage } from './administration/audit-page.tsx'
import { ABOUT_EVENTS, Events } from './administration/events/events.tsx'
import { ABOUT_KEYS, ServiceKeys } from './administration/service-keys.tsx'
import { type UserPageParts, UsersPage } from './administration/users-page.tsx'
import { ProfilePage } from './profile/profile-page.tsx'
import { DEMO_ACCOUNTS, type Session } from './session/session.ts'
import { SessionPage } from './session/session-page.tsx'
import { AdminOnly } from './session/sign-in.tsx'

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
      component: () => <ProfilePage session={session}>{More && <More />}</ProfilePage>,
    },
  ]
}

/** The pages for administrators, with the scopes of service keys and the audit events of this service only. */
export function administrationPages(
  session: Session,
  { scopes, events }: { scopes: readonly string[]; events: string },
  users: UserPageParts = {},
): ConsolePage[] {
  return [
    {
      path: 'users',
      title: 'Users',
      icon: 'people',
      note: 'admin',
      component: () => <UsersPage session={session} {...users} />,
    },
    {
      path: 'keys',
      title: 'Service keys',
      icon: 'key',
      note: 'admin',
      component: () => <KeysPage session={session} scopes={scopes} />,
    },
    {
      path: 'events',
      title: 'Events',
      icon: 'wires',
      note: 'admin',
      component: () => <EventsPage session={session} />,
    },
    {
      path: 'audit',
      title: 'Audit',
      icon: 'scroll',
      note: 'admin',
      component: () => <AuditPage session={session} events={events} />,
    },
    {
      path: 'health',
      title: 'Health',
      icon: 'pulse',
      component: () => <HealthPage api={session.api} />,
    },
  ]
}

function KeysPage({ session, scopes }: { session: Session; scopes: readonly string[] }) {
  return (
    <Page title="Service keys" about={ABOUT_KEYS}>
      <AdminOnly session={session} to="manage service keys">
        <ServiceKeys api={session.api} scopes={scopes} by={session.claims.value?.sub} />
      </AdminOnly>
    </Page>
  )
}

function EventsPage({ session }: { session: Session }) {
  return (
    <Page title="Events" about={ABOUT_EVENTS}>
      <AdminOnly session={session} to="see events">
        <Events api={session.api} by={session.claims.value?.sub} />
      </AdminOnly>
    </Page>
  )
}

/** What administrators find: users, keys and endpoints, and more of this service. */
export function accountFinders({ api, isAdmin }: Session, ...more: Finder[]): Finder[] {
  if (!isAdmin.value) return []
  const users = inList<PageOfUsers>(
    api,
    (text) => `/api/users?size=5&contains=${text}`,
    ({ content }) =>
      content.map(({ id, username, email }) => ({
        title: `${username} (${email})`,
        kind: 'user',
        path: `users/${id}`,
      })),
  )
  return [users, ...more, ...inAccess(api, { keys: 'keys', events: 'events' })]
}

export function signInActions(session: Session): ConsoleAction[] {
  if (!facts.value.demoAccounts) return []
  return DEMO_ACCOUNTS.map(({ username, password }) => ({
    title: `Sign in as ${username}`,
    run: () => session.signIn({ username, password }),
  }))
}
