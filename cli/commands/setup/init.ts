import { randomBytes } from 'node:crypto'
import { mkdir, open, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { isLocalAddress, markNewInstallation } from '@plinth/kit/runtime'
import { type Command, CommandError, EXIT } from '../../command.ts'

const SECRETS = {
  'identity-master-key': () => randomBytes(32).toString('base64'),
  'storage-full-master-key': () => randomBytes(32).toString('base64'),
  'payments-master-key': () => randomBytes(32).toString('base64'),
  'storage-key-api-key': () => randomBytes(32).toString('base64url'),
  'admin-password': () => randomBytes(18).toString('base64url'),
}

export const init: Command = {
  name: 'init',
  summary: 'writes .env and secrets for production to this folder, without prompting',
  options: {
    url: {
      type: 'string',
      value: 'https://app.example',
      help: 'the public address; the services are below it, at /identity and so on',
    },
    'admin-email': {
      type: 'string',
      value: 'ada@example.com',
      help: 'required: the address of the first administrator, for a forgotten password',
    },
  },
  run: async ({ text }) => {
    const url = publicUrl(text('url'))
    const data = dataFolder(text('data'))
    const adminEmail = addressOfAdministrator(text('admin-email'))
    // Write .env last, in one piece, so that an interrupted run can be repeated.
    if (await isThere('.env')) throw alreadyThere('.env')
    await mkdir('secrets', { recursive: true, mode: 0o700 }).catch(cannotWrite('secrets'))
    // In production no service does this: the folder may only be missing or empty because its disk is not mounted.
    const folder = data ?? resolve('data')
    await mkdir(folder, { recursive: true, mode: 0o700 })
      .then(() => markNewInstallation(folder))
      .catch(cannotWrite(folder))
    const written: string[] = []
    for (const [name, secret] of Object.entries(SECRETS))
      if (await writeNew(join('secrets', name), `${secret()}\n`)) written.push(`secrets/${name}`)
    if (!(await writeNew('.env', settingsFor({ url, data, adminEmail }))))
      throw alreadyThere('.env')
    written.push('.env')
    return {
      text: [
        ...written.map((file) => `Wrote ${file}`),
        '',
        'Protect secrets/ like the data, and keep a copy elsewhere: without it backups are unreadable.',
        'Sign in as admin with the password in secrets/admin-password. Next: plinth start',
      ].join('\n'),
      json: { folder: resolve('.'), written },
    }
  },
}

/** Programs that read .env files disagree about quoting. */
const NEEDS_QUOTES = /[\s"'`#$]/

function publicUrl(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  // Without user, query and fragment, as SUITE_PUBLIC_URL requires at the start.
  const isBase = /^https:\/\/[^/@?\\]+(\/[^?\\]*)?$/.test(text) && URL.canParse(text)
  if (isBase && !NEEDS_QUOTES.test(text)) return text.replace(/\/+$/, '')
  throw new CommandError(
    EXIT.usage,
    `--url ${text}: expected an address such as https://app.example.`,
  )
}

/** An absolute path, so that commands and the service find the same folder wherever they run. */
function dataFolder(text: string | undefined): string | undefined {
  if (text === undefined || !NEEDS_QUOTES.test(text)) return text && resolve(text)
  throw new CommandError(EXIT.usage, `--data ${text}: expected a folder such as /var/lib/plinth.`)
}

/** Not at localhost: others on this machine could read a mail that resets the password. */
function addressOfAdministrator(text: string | undefined): string {
  const example = 'such as --admin-email ada@example.com'
  if (text === undefined)
    throw new CommandError(
      EXIT.usage,
      `The first administrator needs an address, for a forgotten password: give one, ${example}.`,
    )
  const isAddress = /^[^\s@]+@[^\s@]+$/.test(text) && !NEEDS_QUOTES.test(text)
  if (isAddress && !isLocalAddress(text)) return text
  throw new CommandError(
    EXIT.usage,
    `--admin-email ${text}: expected an address that mail reaches, ${example}.`,
  )
}

/** Never replaces an existing file: a lost key means lost data. */
async function writeNew(file: string, content: string): Promise<boolean> {
  try {
    const created = await open(file, 'wx', 0o600)
    try {
      await created.writeFile(content)
      await created.sync()
      return true
    } catch (error) {
      // On a full disk. The next run would take what is left of it for a file to keep.
      await rm(file, { force: true })
      throw error
    } finally {
      await created.close()
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    return cannotWrite(file)(error as Error)
  }
}

function cannotWrite(file: string) {
  return ({ message }: Error): never => {
    throw new CommandError(EXIT.cannotCreate, `Cannot write ${file}: ${message}.`)
  }
}

async function isThere(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  )
}

function alreadyThere(file: string): CommandError {
  return new CommandError(EXIT.cannotCreate, `${file} already exists; nothing was changed.`)
}

type Chosen = { url: string | undefined; data: string | undefined; adminEmail: string }

function settingsFor({ url, data, adminEmail }: Chosen): string {
  return `# Written by "plinth init". .env.example lists every setting with its default.
NODE_ENV=production
${data === undefined ? '' : `SUITE_DATA=${data}\n`}
IDENTITY_MASTER_KEY_FILE=secrets/identity-master-key
STORAGE_FULL_MASTER_KEY_FILE=secrets/storage-full-master-key
PAYMENTS_MASTER_KEY_FILE=secrets/payments-master-key
STORAGE_KEY_API_KEY_FILE=secrets/storage-key-api-key

# Created at the first start, ignored afterwards.
IDENTITY_ADMIN_USERNAME=admin
IDENTITY_ADMIN_EMAIL=${adminEmail}
IDENTITY_ADMIN_PASSWORD_FILE=secrets/admin-password
STORAGE_FULL_ADMIN_USERNAME=admin
STORAGE_FULL_ADMIN_EMAIL=${adminEmail}
STORAGE_FULL_ADMIN_PASSWORD_FILE=secrets/admin-password

# Who may call payments: keys, issuer or open. It answers 503 until both provider keys are set.
PAYMENTS_ACCESS=keys
PROVIDER_SECRET_KEY=
PROVIDER_WEBHOOK_SECRET=

# The time of the daily backup, in UTC. Backups go to SUITE_DATA/backups; better set BACKUP_DIR to another disk.
# Remove BACKUP_AT if plinth-backup.timer makes the backups.
BACKUP_AT=02:00

# Mail for forgotten passwords: smtps://user:password@mail.example, and the sender.
SMTP_URL=
MAIL_FROM=
${url === undefined ? '' : addressAt(url)}`
}

function addressAt(url: string): string {
  return `
# The public address, through a proxy on this machine. Each service is below it.
SUITE_PUBLIC_URL=${url}
SUITE_TRUSTED_PROXIES=loopback
`
}
