/** What `plinth doctor` checks about this service. */
import { listEnabledAdmins } from '@plinth/accounts'
import type { Db } from '@plinth/kit/database'
import {
  type Examined,
  type Finding,
  isLocalAddress,
  ok,
  skip,
  systemClock,
} from '@plinth/kit/runtime'
import type { IdentityConfig } from './config.ts'
import type { IdentityTables } from './database/tables.ts'
import { faultOf } from './federation/providers/fault.ts'
import type { Provider } from './federation/providers/provider.ts'
import { openProviders } from './federation/providers/providers.ts'
import { settingsPrefix } from './federation/settings.ts'
import { openTransport } from './mail/transport.ts'

export async function mailFindings(
  _: Examined,
  { mail, publicUrl }: IdentityConfig,
): Promise<Finding[]> {
  if (!mail.smtp && mail.keepInOutbox)
    return [skip('mail', 'SMTP_URL is not set: mails stay on the Mail page of the console')]
  if (!mail.smtp)
    return [
      skip('mail', 'SMTP_URL is not set: operations that send mail, such as a reset, answer 503'),
    ]
  const transport = openTransport(mail, mail.smtp, publicUrl)
  const server = `${mail.smtp.host}:${mail.smtp.port}`
  try {
    await transport.check()
    return [ok('mail', `${server} accepts mail`)]
  } catch (error) {
    return [
      {
        check: 'mail',
        status: 'fail',
        seen: `${server}: ${(error as Error).message}`,
        expected: 'a mail server that accepts the sign-in',
        why: 'links for forgotten passwords and new addresses cannot be sent',
        fix: 'SMTP_URL=smtps://user:password@mail.example in .env',
      },
    ]
  } finally {
    transport.close()
  }
}

/** Every start checks the origins against the domain, but not whether they include identity's own address. */
export async function passkeyFindings(
  _: Examined,
  { publicUrl, relyingParty }: IdentityConfig,
): Promise<Finding[]> {
  if (!relyingParty) return []
  const { origin, hostname } = new URL(publicUrl)
  if (relyingParty.origins.includes(origin)) return [ok('origins', `passkeys are for ${origin}`)]
  return [
    {
      check: 'origins',
      status: 'warn',
      seen: `passkeys are for ${relyingParty.origins.join(', ')}, but identity is at ${origin}`,
      expected: 'the address of identity among them',
      why: 'browsers and identity refuse passkeys there',
      fix: `add ${origin} to IDENTITY_PASSKEY_ORIGINS in .env; IDENTITY_PASSKEY_RP_ID must be ${hostname} or a parent domain of it`,
    },
  ]
}

/** Asks each sign-in provider for its document and keys, all at the same time. */
export async function providerFindings(
  _: Examined,
  { providers, production }: IdentityConfig,
): Promise<Finding[]> {
  const opened = openProviders(providers, { clock: systemClock, production })
  return Promise.all([...opened.values()].map(providerFinding))
}

async function providerFinding({ settings, check }: Provider): Promise<Finding> {
  const { id, issuer } = settings
  return check().then(
    () => ok('providers', `${id}: ${issuer} answers`),
    (error) => ({
      check: 'providers',
      status: 'fail',
      seen: `${id}: ${issuer}: ${faultOf(error)}`,
      expected: 'its OpenID document and its keys',
      why: 'sign-ins with it answer 503',
      fix: `check its settings in .env, ${settingsPrefix(id)}…, and whether this machine reaches it`,
    }),
  )
}

/** Administrators whom no mail reaches: earlier versions created the first one at `localhost`. */
export async function administratorFindings(
  db: Db<IdentityTables>,
  { production }: Examined,
): Promise<Finding[]> {
  const administrators = production ? await listEnabledAdmins(db) : []
  return administrators
    .filter(({ email }) => isLocalAddress(email))
    .map(({ username, email }) => ({
      check: 'administrators',
      status: 'warn',
      seen: `the address of the administrator ${username} is ${email}`,
      expected: 'an address that mail reaches',
      why: 'in production no mail goes to this machine: no password reset, and no warning',
      fix: `sign in as ${username} and change the address on the account page`,
    }))
}
