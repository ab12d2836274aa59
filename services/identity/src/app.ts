import {
  ACCOUNT_EVENTS,
  type AccountGuard,
  type Accounts,
  ADDRESS_EVENTS,
  ADMIN_ROLE,
  accountData,
  demoConveniences,
  FACTOR_EVENTS,
  IDENTITY_EVENTS,
  keyRules,
  mountAccounts,
  type Operator,
  openAccounts,
  operatorOf,
  type PasskeyStore,
  rotationFindings,
  type SecurityListener,
} from '@plinth/accounts'
import { consoleFolder } from '@plinth/console'
import { describeEvents, eventGuards, insertSample, KEY_EVENTS, mountEvents } from '@plinth/events'
import { type Db, openDatabase } from '@plinth/kit/database'
import {
  type ApiDescription,
  actuatorRoutes,
  consoleRoutes,
  createServer,
  type Guard,
  type HealthCheck,
  indexRoute,
  openApiRoutes,
  protectedResourceRoutes,
  type Server,
} from '@plinth/kit/http'
import { createLogger } from '@plinth/kit/logging'
import { measureDisks } from '@plinth/kit/metrics'
import { type Clock, DAY_SECONDS, systemClock } from '@plinth/kit/runtime'
import { openRsaSigningKeys } from '@plinth/kit/tokens'
import {
  addChosenKey,
  expiryFindings,
  type KeyGuard,
  openServiceKeys,
  type ServiceKeys,
  serviceKeyGuard,
  serviceKeyRoutes,
  startKeyNotices,
} from '@plinth/service-keys'
import manifest from '../package.json' with { type: 'json' }
import { IDENTITY_AUDIT_EVENTS } from './audit.ts'
import { type IdentityConfig, loadConfig } from './config.ts'
import { deleteGrantsOf } from './database/grants.repository.ts'
import { identityMigrations } from './database/migrations/index.ts'
import { type IdentityTables, SEALED_COLUMNS } from './database/tables.ts'
import { deletionRoutes } from './deletion/deletion.routes.ts'
import { type Deletions, startErasure } from './deletion/deletion.ts'
import { administratorFindings, mailFindings, passkeyFindings, providerFindings } from './doctor.ts'
import { exportRoutes } from './export/export.routes.ts'
import { factorRoutes } from './factors/factors.routes.ts'
import { openGate } from './factors/gate.ts'
import { recentGuard } from './factors/reauthentication.ts'
import { removalRoutes } from './factors/removal.routes.ts'
import { type Factors, factors } from './factors/second-factor.ts'
import { callbackRoutes } from './federation/callback.routes.ts'
import { federationRoutes } from './federation/federation.routes.ts'
import type { Federation } from './federation/federation.ts'
import { identityRoutes } from './federation/identities.routes.ts'
import { removeIdentities } from './federation/identities.ts'
import { measureProviders, openProviders } from './federation/providers/providers.ts'
import { prepareSignUpCode } from './federation/sign-up.ts'
import { accountPageRoutes } from './mail/account-pages.routes.ts'
import { startDelivery } from './mail/delivery.ts'
import { mailRoutes } from './mail/mail.routes.ts'
import { canSend, openOutbox } from './mail/outbox.ts'
import type { UserMails } from './mail/user-mails.ts'
import { followEvents } from './notices/consequences.ts'
import { recordEndpoints } from './notices/notices.ts'
import { oauthRoutes, userStatusRoute } from './oauth/oauth.routes.ts'
import { openOAuth } from './oauth/oauth.ts'
import { clientDesk } from './openid/client-desk.ts'
import { mountOpenId } from './openid/index.ts'
import { clientNames } from './openid/known-clients.ts'
import { openOpenId } from './openid/openid.ts'
import { CLIENT_EVENTS } from './openid/published-events.ts'
import { clientEndpoints } from './openid/token-endpoint.ts'
import { startChallengeSweep } from './passkeys/challenges.ts'
import { createCsrfTokens } from './passkeys/csrf.ts'
import { provePasskeyOf } from './passkeys/login.ts'
import { disabledPasskeyRoutes, passkeyRoutes } from './passkeys/passkeys.routes.ts'
import { passkeyStore } from './passkeys/passkeys.ts'
import { passkeyRecordRoutes } from './passkeys/records.routes.ts'
import { emailRoutes } from './recovery/email-change.routes.ts'
import { entryHooks } from './recovery/entry.ts'
import { prepareMails } from './recovery/mails.ts'
import { recoveryRoutes } from './recovery/recovery.routes.ts'
import { holdRegistrations } from './registration/held.ts'
import { openingRoutes } from './registration/opening.routes.ts'
import { followOpening } from './registration/opening.ts'
import { registrationRoutes } from './registration/registration.routes.ts'
import { SCOPES, type Scope } from './scopes.ts'
import { signInCodeRoutes } from './sign-in-code/sign-in-code.routes.ts'
import { prepareSignInCode } from './sign-in-code/sign-in-code.ts'
import { startSweep } from './sweep.ts'

export { type IdentityConfig, loadConfig } from './config.ts'

const NAME = 'identity'
const VERSION = manifest.apiVersion

const EVENTS = {
  ...ACCOUNT_EVENTS,
  ...ADDRESS_EVENTS,
  ...FACTOR_EVENTS,
  ...IDENTITY_EVENTS,
  ...KEY_EVENTS,
  ...CLIENT_EVENTS,
}

const API: ApiDescription = {
  title: manifest.apiTitle,
  version: VERSION,
  description: 'Accounts, sessions and passkeys.',
  tags: {
    'Signing in': 'Signing in, refreshing and signing out.',
    'Own account': 'What every user may see and change.',
    Passkeys: 'WebAuthn ceremonies, and the passkeys of users.',
    'Second factor': 'An authenticator code at every sign-in, and codes for when it is lost.',
    Recovery: 'A forgotten password, and addresses that are verified or changed.',
    Mail: 'For administrators: what became of each mail.',
    Users: 'For administrators: users, their sessions, and the audit.',
    Events: 'What has happened, and the endpoints that are notified.',
    'Service keys': 'For administrators: keys of the calling applications.',
    'OpenID Connect': 'Signing in to other applications: authorization, and what it gives.',
    Clients: 'For administrators: the applications that users sign in to.',
    'OAuth 2.0': 'Discovery, introspection and revocation, for OAuth libraries.',
    Operations: 'Health, keys, and this document.',
  },
  webhooks: describeEvents(EVENTS, NAME),
}

/** The wiring of the service: opens and mounts each room. The routes are in their `*.routes.ts`. */
export async function createIdentity(
  config: IdentityConfig,
  { clock = systemClock }: { clock?: Clock } = {},
): Promise<Server> {
  const log = createLogger(NAME, config.logLevel)
  const database = await openDatabase<IdentityTables>(config.databaseUrl, identityMigrations, {
    ...config.database,
    log,
  })
  const { db } = database
  const server = createServer({ ...config, log, clock })
  server.onClose(database.close)
  database.measure(server.metrics)
  measureDisks(server.metrics, { data: config.dataFolder })
  const outbox = openOutbox(db, clock, config)
  const follow = followEvents(outbox, config.publicUrl)
  const keys = identityKeys(db, clock, config, follow)
  await addChosenKey(keys, config.introspectionKey, 'tokens:introspect')
  // Opened below: the accounts, whose routes take this guard, have the keys that sign them.
  const clientTokens = () => oauth.tokens
  const keyGuard = serviceKeyGuard(keys, { allowedOrigins: config.corsOrigins, clientTokens })
  const confirmation = holdRegistrations(outbox, config)
  const gate = openGate(clock, config)
  const opening = { db, clock, setting: config.accounts.registration.open }
  const live = followOpening(opening, log)
  server.onClose(live.stop)
  await live.refresh()
  const hooks = { onEvent: follow, gate, ...entryHooks, confirmation, clientNames }
  const idTokenKeys = openIdTokenKeys(db, clock, config)
  const { accounts, guard } = await mountAccounts(server, db, config.accounts, {
    keys: keyGuard,
    recent: recentGuard(config),
    auditEvents: IDENTITY_AUDIT_EVENTS,
    moreKeys: idTokenKeys,
    registrationIsOpen: live.isOpen,
    ...hooks,
  })
  const { factorRemovalHours: removalHours } = config
  const factors = { accounts, db, issuer: config.mail.appName, removalHours }
  const guards = { guard, recent: recentGuard(config)(accounts) }
  const { publicUrl, accounts: settings } = config
  mountMailing(server, config, { accounts, db, outbox, keys, factors, publicUrl }, guards)

  openingRoutes(server, opening, { ...guards, live })
  mountPasskeys(server, config, factors, guards)
  removalRoutes(server, factors, guards)
  passkeyRecordRoutes(server, { accounts, db, clock }, guards)
  protectedResourceRoutes(server, { publicUrl, issuer: settings.issuer })
  serviceKeyRoutes(server, keys, guard.role(ADMIN_ROLE), guards.recent)
  server.onClose(startKeyNotices(keys, server).stop)
  mountEvents(server, {
    db,
    source: NAME,
    settings: config.events,
    masterKey: config.accounts.masterKey,
    catalogue: EVENTS,
    guards: eventGuards(keyGuard, guard.role(ADMIN_ROLE), guards.recent),
    record: recordEndpoints(outbox, config.publicUrl),
  })
  const oauth = mountProvider(server, { accounts, db, keys, keyGuard, idTokenKeys }, config, guards)
  mountOperations(server, database.ping)
  return server
}

type Provider = {
  accounts: Accounts
  db: Db<IdentityTables>
  keys: ServiceKeys<Scope>
  keyGuard: KeyGuard
  idTokenKeys: ReturnType<typeof openIdTokenKeys>
}

/** Tokens for other applications: of users who sign in to them, and of service keys. */
function mountProvider(
  server: Server,
  { accounts, db, keys, keyGuard, idTokenKeys }: Provider,
  config: IdentityConfig,
  guards: Guards,
) {
  const openid = openOpenId(accounts, db, idTokenKeys, openIdOptions(config))
  mountOpenId(server, openid, { ...guards, delivers: config.events.delivers })
  const oauth = openOAuth(accounts, keys, clientEndpoints(openid))
  oauthRoutes(server, oauth, { publicUrl: config.publicUrl, keyGuard })
  userStatusRoute(server, oauth, guards.guard)
  return oauth
}

/** Health, the console, and the documents about the service. */
function mountOperations(server: Server, healthy: HealthCheck): void {
  actuatorRoutes(server, { name: NAME, version: VERSION, healthy })
  consoleRoutes(server, consoleFolder('identity'))
  indexRoute(server, { name: NAME, version: VERSION })
  openApiRoutes(server, API, consoleFolder('reference'))
}

/** As long as a session can last: a client may send back the ID token that it began with. */
function openIdTokenKeys(
  db: Db<IdentityTables>,
  clock: Clock,
  { accounts: { masterKey, sessionMaxDays } }: IdentityConfig,
) {
  const tokenLifetimeSeconds = sessionMaxDays * DAY_SECONDS
  return openRsaSigningKeys({ db, clock, masterKey, tokenLifetimeSeconds })
}

function openIdOptions(config: IdentityConfig) {
  const { publicUrl, openid, relyingParty, signInCode, events, production } = config
  const methods = [
    'password',
    ...(relyingParty ? ['passkey'] : []),
    ...(signInCode ? ['code'] : []),
  ]
  const addresses = { production, allowCidrs: events.allowCidrs }
  const providers = config.providers.map(({ id, name }) => ({ id, name }))
  return { publicUrl, ...openid, addresses, signIn: { methods, providers } }
}

/** What a reset ends besides the password: other ways in, and what somebody else may have allowed. */
const credentials: PasskeyStore = {
  ...passkeyStore,
  async removeIdentities(...[accounts, user, by]: Parameters<typeof removeIdentities>) {
    await removeIdentities(accounts, user, by)
    await deleteGrantsOf(accounts.db, user.id)
  },
}

type Guards = { guard: AccountGuard<Scope>; recent: Guard }

type Mailing = Omit<UserMails, 'log'> & { factors: Factors } & Pick<Deletions, 'keys'>

/** The capabilities that mail users: their routes and jobs. The jobs stop with the server. */
function mountMailing(
  server: Server,
  config: IdentityConfig,
  { factors, keys, ...parts }: Mailing,
  guards: Guards,
): void {
  const mails = { ...parts, log: server.log }
  const { accounts, outbox, publicUrl } = mails
  const recovery = { ...mails, passkeys: credentials, factors }
  const { signInCode, deletionGraceDays: graceDays } = config
  const codes = { ...recovery, signInCode }
  const federation = { ...recovery, ...federationOf(server, config) }
  const prepare = prepareMails(recovery, {
    'sign-in-code': prepareSignInCode(codes),
    'sign-up-code': prepareSignUpCode(federation),
  })
  const delivery = startDelivery(outbox, prepare, server, publicUrl)
  server.onClose(delivery.stop)
  server.onClose(startSweep(mails, server).stop)
  const { stop, eraseNow } = startErasure(mails, server)
  server.onClose(stop)
  recoveryRoutes(server, recovery, guards)
  emailRoutes(server, recovery, guards)
  signInCodeRoutes(server, codes)
  server.tellPages(() => ({ signInCode }))
  mountFederation(server, federation, guards)
  deletionRoutes(server, { ...mails, keys, graceDays, eraseNow }, guards)
  registrationRoutes(server, mails, guards)
  exportRoutes(server, { ...mails, passkeys: passkeyStore }, guards)
  accountPageRoutes(server, outbox.settings, accounts.settings)
  mailRoutes(server, outbox, { ...guards, health: delivery.health })
  if (!canSend(outbox))
    server.announcements.push('mail is off: set SMTP_URL and MAIL_FROM for password resets')
}

/** The providers of the settings; nothing is asked of them yet. */
function federationOf(server: Server, { providers, corsOrigins, ...config }: IdentityConfig) {
  const { clock, metrics } = server
  const { production, relyingParty } = config
  const measure = measureProviders(metrics)
  return {
    providers: openProviders(providers, { clock, production, measure }),
    corsOrigins,
    passkeysOn: relyingParty !== undefined,
  }
}

/** Sign-ins with providers. */
function mountFederation(server: Server, federation: Federation, guards: Guards): void {
  federationRoutes(server, federation)
  callbackRoutes(server, federation)
  identityRoutes(server, federation, guards)
}

/** Passkeys, if enabled, and second factors. A passkey can also be used to reauthenticate. */
function mountPasskeys(
  server: Server,
  { relyingParty, userVerification, publicUrl }: IdentityConfig,
  factors: Factors,
  guards: Guards,
): void {
  const { accounts, db } = factors
  const { clock, settings } = accounts
  const csrf = createCsrfTokens(settings.masterKey, clock)
  if (!relyingParty) {
    disabledPasskeyRoutes(server, csrf)
    factorRoutes(server, factors, guards)
    server.announcements.push(`passkeys are off: switched off, or not possible at ${publicUrl}`)
    return
  }
  const passkeys = { accounts, db, clock, relyingParty, userVerification }
  passkeyRoutes(server, passkeys, { ...guards, csrf })
  factorRoutes(server, { ...factors, provePasskey: provePasskeyOf(passkeys) }, guards)
  server.onClose(startChallengeSweep(passkeys, server).stop)
}

/** What a backup of this service must contain. */
function identityData(config: IdentityConfig) {
  const schema = { migrations: identityMigrations, sealed: SEALED_COLUMNS }
  return accountData(NAME, 'IDENTITY_', config, schema)
}

/** The service keys of this service. Changes are recorded in its audit, and a notice is mailed. */
function identityKeys(
  db: Db<IdentityTables>,
  clock: Clock,
  { production }: IdentityConfig,
  follow: SecurityListener,
): ServiceKeys<Scope> {
  const rules = keyRules(clock, NAME, follow)
  return openServiceKeys(db, { clock, production, scopes: SCOPES, ...rules })
}

type OperatorDesk = {
  users: Operator
  keys: ServiceKeys
  clients: ReturnType<typeof clientDesk>
  publishSample(type: string): Promise<string>
  close(): Promise<void>
}

/** For the command line: opens the service's database, whether or not the service is running. */
export async function openForOperator(config: IdentityConfig): Promise<OperatorDesk> {
  const { db, close } = await openDatabase<IdentityTables>(
    config.databaseUrl,
    identityMigrations,
    config.database,
  )
  const outbox = openOutbox(db, systemClock, config)
  const follow = followEvents(outbox, config.publicUrl)
  const hooks = { onEvent: follow, ...entryHooks }
  const log = createLogger(NAME, 'error')
  const accounts = await openAccounts(db, config.accounts, { clock: systemClock, log }, hooks)
  return {
    users: operatorOf(accounts, credentials, factors),
    keys: identityKeys(db, systemClock, config, follow),
    clients: clientDesk(operatorClients(accounts, db, config)),
    publishSample: (type) => insertSample(db, EVENTS, { source: NAME, type, at: systemClock() }),
    close: async () => {
      await accounts.close()
      await close()
    },
  }
}

function operatorClients(accounts: Accounts, db: Db<IdentityTables>, config: IdentityConfig) {
  const { issuer, audience } = config.accounts
  const { addresses } = openIdOptions(config)
  return { accounts, db, clock: systemClock, issuer, audience, addresses }
}

/** For the launcher and the command line: what they do with any service, as this one does it. */
export const description = {
  loadConfig,
  create: createIdentity,
  data: identityData,
  openForOperator,
  conveniences: ({ accounts, mail }: IdentityConfig) => ({
    ...demoConveniences(accounts),
    pages: mail.keepInOutbox ? [{ title: 'Inbox for development', at: '#/mail' }] : [],
  }),
  issuer: ({ accounts }: IdentityConfig) => accounts.issuer,
  cutOff: (config: IdentityConfig): IdentityConfig => ({
    ...config,
    mail: { ...config.mail, smtp: undefined },
    providers: [],
    events: { ...config.events, delivers: false },
  }),
  checks: { mail: mailFindings, passkeys: passkeyFindings, providers: providerFindings },
  dataChecks: {
    'signing key': rotationFindings,
    'service keys': expiryFindings,
    administrators: administratorFindings,
  },
}
