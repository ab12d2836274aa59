import {
  accountFinders,
  administrationPages,
  ownPages,
  signInActions,
} from '../shared/account/account-pages.tsx'
import { choice } from '../shared/account/administration/users-page.tsx'
import { resume } from '../shared/account/session/code-flow/provider.ts'
import { SessionBar } from '../shared/account/session/session-bar.tsx'
import { HOME, INBOX, PASSKEY } from '../shared/components/icon.tsx'
import { inReference } from '../shared/shell/finders.ts'
import { clientsIn } from '../shared/shell/records.ts'
import { startConsole } from '../shared/shell/shell.tsx'
import { accountActions } from './administration/account-actions.tsx'
import { CreateUser } from './administration/create-user.tsx'
import { IdentitiesOfUser } from './administration/identities-of-user.tsx'
import { PasskeysOfUser } from './administration/passkeys-of-user.tsx'
import { Registration } from './administration/registration.tsx'
import { ClientsPage } from './clients/clients-page.tsx'
import { GrantsOfUser } from './grants/grants-of-user.tsx'
import { OwnGrantsCard } from './grants/own-grants-card.tsx'
import { MailPage } from './mail/mail-page.tsx'
import { OverviewPage } from './overview-page.tsx'
import { OwnDataCard } from './own-data-card.tsx'
import { PasskeysPage } from './passkeys/passkeys-page.tsx'
import { WaysIn } from './passkeys/ways-in.tsx'
import { ProveDialog } from './prove-dialog.tsx'
import { OwnIdentitiesCard } from './providers/own-identities-card.tsx'
import { ProvidersPage } from './providers/providers-page.tsx'
import { SecurityPage } from './security-page.tsx'
import { session } from './session.ts'

const SCOPES = ['tokens:introspect', 'users:read', 'users:write', 'events:read', 'webhooks:write']

const EVENTS =
  'USER_CREATED DATA_EXPORTED PASSWORD_EXPIRED PASSWORD_RESET_REQUESTED EMAIL_VERIFIED EMAIL_CHANGED PASSKEY_ADDED PASSKEY_USED PASSKEY_REMOVED TOTP_ADDED TOTP_REMOVED RECOVERY_CODE_USED IDENTITY_LINKED IDENTITY_UNLINKED IDENTITY_USED CONSENT_GIVEN CONSENT_REVOKED CODE_REPLAYED CLIENT_CREATED CLIENT_CHANGED CLIENT_SECRET_ROTATED CLIENT_DELETED SIGN_IN_CODE_USED MAIL_RETRIED REGISTRATION_CHANGED'

const CLIENTS = clientsIn(session)

const operations = inReference(session)

const OwnCards = () => (
  <>
    <OwnIdentitiesCard />
    <OwnGrantsCard />
    <OwnDataCard />
  </>
)

if (await resume(session))
  startConsole({
    title: 'Identity',
    sessionBar: (
      <>
        <SessionBar session={session} signInPath="session" />
        <ProveDialog />
      </>
    ),
    actions: () => [
      ...signInActions(session),
      { title: 'Refresh the token pair', run: session.refresh },
      { title: 'Log out', run: session.logOut },
    ],
    settings: {
      'Change your password': 'profile',
      'Your sessions': 'profile',
      'Second factor and recovery codes': 'security',
      'Your e-mail address': 'security',
      'Who may register': 'users',
    },
    finders: () => [...accountFinders(session, CLIENTS), operations],
    pages: [
      { path: '', title: 'Overview', icon: HOME, component: OverviewPage },
      ...ownPages(session, { more: OwnCards, waysIn: WaysIn }),
      { path: 'passkeys', title: 'Passkeys', icon: PASSKEY, component: PasskeysPage },
      { path: 'security', title: 'Security', icon: 'key', component: SecurityPage },
      { path: 'mail', title: 'Mail', icon: INBOX, component: MailPage },
      { path: 'clients', title: 'Clients', icon: 'link', note: 'admin', component: ClientsPage },
      { path: 'providers', title: 'Providers', icon: 'link', component: ProvidersPage },
      ...administrationPages(
        session,
        { scopes: SCOPES, events: EVENTS },
        {
          filters: [
            choice('E-mail address', 'verified', { true: 'verified', false: 'not verified' }),
            choice('Second factor', 'mfa', { true: 'on', false: 'off' }),
          ],
          create: (created) => <CreateUser session={session} created={created} />,
          below: <Registration session={session} />,
          actions: accountActions,
          lists: (props) => (
            <>
              <PasskeysOfUser {...props} />
              <IdentitiesOfUser {...props} />
              <GrantsOfUser {...props} />
            </>
          ),
        },
      ),
    ],
  })
