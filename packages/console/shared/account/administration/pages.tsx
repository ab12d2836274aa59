import { Page } from '../../components/page.tsx'
import type { Session } from '../session/session.ts'
import { AdminOnly } from '../session/sign-in.tsx'
import { ABOUT_EVENTS, Events } from './events/events.tsx'
import { ABOUT_KEYS, ServiceKeys } from './service-keys.tsx'

export { AuditPage } from './audit-page.tsx'
export { UsersPage } from './users-page.tsx'

export function KeysPage({ session }: { session: Session }) {
  return (
    <Page title="Service keys" about={ABOUT_KEYS}>
      <AdminOnly session={session} to="manage service keys">
        <ServiceKeys api={session.api} by={session.claims.value?.sub} />
      </AdminOnly>
    </Page>
  )
}

export function EventsPage({ session }: { session: Session }) {
  return (
    <Page title="Events" about={ABOUT_EVENTS}>
      <AdminOnly session={session} to="see events">
        <Events api={session.api} by={session.claims.value?.sub} />
      </AdminOnly>
    </Page>
  )
}
