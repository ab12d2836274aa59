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
import { later } from '../shared/shell/later.tsx'
import { clientsIn } from '../shared/shell/records.ts'
import { startConsole } from '../shared/shell/shell.tsx'
import { accountActions } from './administration/account-actions.tsx'
import { CreateUser } from './administration/create-user.tsx'
import { GrantsOfUser } from './administration/grants-of-user.tsx'
import { IdentitiesOfUser } from './administration/identities-of-user.tsx'
import { PasskeysOfUser } from './administration/passkeys-of-user.tsx'
import { Registration } from './administration/registration.tsx'
import { ClientsPage } from './clients/clients-page.tsx'
import { MailPage } from './mail/mail-page.tsx'
import { OverviewPage } from './overview-page.tsx'
import { WaysIn } from './passkeys/ways-in.tsx'
import { ProveDialog } from './prove-dialog.tsx'
import { ProvidersPage } from './providers/providers-page.tsx'
import { session } from './session.ts'

const CLIENTS = clientsIn(session)

const operations = inReference()

const OwnCards = later(async () => (await import('./own-cards.tsx')).OwnCards)
const PasskeysPage = later(async () => (await import('./passkeys/passkeys-page.tsx')).PasskeysPage)
const SecurityPage = later(async () => (await import('./security-page.tsx')).SecurityPage)

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
      'Your devices': 'profile',
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
      ...administrationPages(session, {
        filters: [
          choice('E-mail address', 'verified', { true: 'verified', false: 'not verified' }),
          choice('Second factor', 'mfa', { true: 'on', false: 'off' }),
        ],
        create: (created) => <CreateUser created={created} />,
        below: <Registration />,
        actions: accountActions,
        lists: (props) => (
          <>
            <PasskeysOfUser {...props} />
            <IdentitiesOfUser {...props} />
            <GrantsOfUser {...props} />
          </>
        ),
      }),
    ],
  })
