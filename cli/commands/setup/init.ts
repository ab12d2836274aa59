import { randomBytes } from 'node:crypto'
import { mkdir, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
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
  summary: 'writes .env and secrets for production into this folder; asks nothing',
  options: {
    url: {
      type: 'string',
      value: 'https://app.example',
      help: 'the public address; services are below it, at /identity and so on',
    },
  },
  run: async ({ text }) => {
    const url = publicUrl(text('url'))
    const data = dataFolder(text('data'))
    // Secrets first: .env appears last and whole, and a run that was cut short can be repeated.
    if (await isThere('.env')) throw alreadyThere('.env')
    await mkdir('secrets', { recursive: true, mode: 0o700 }).catch(cannotWrite('secrets'))
    const written: string[] = []
    for (const [name, secret] of Object.entries(SECRETS))
      if (await writeNew(join('secrets', name), `${secret()}\n`)) written.push(`secrets/${name}`)
    if (!(await writeNew('.env', settingsFor(url, data)))) throw alreadyThere('.env')
    written.push('.env')
    return {
      text: [
        ...written.map((file) => `Wrote ${file}`),
        '',
        'Keep secrets/ as safe as the data, and a copy elsewhere: without it a backup cannot be read.',
        'Sign in as admin with the password in secrets/admin-password. Next: plinth start',
      ].join('\n'),
      json: { folder: resolve('.'), written },
    }
  },
}

function publicUrl(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'https:' && url.search === '' && url.hash === '')
    return text.replace(/\/+$/, '')
  throw new CommandError(
    EXIT.usage,
    `--url ${text}: expected an address such as https://app.example.`,
  )
}

/** Whole, so that commands and the service find the same one wherever they run. */
function dataFolder(text: string | undefined): string | undefined {
  // Each reader of such a file has other rules for quotes.
  if (text === undefined || !/[\s"'`#$]/.test(text)) return text && resolve(text)
  throw new CommandError(EXIT.usage, `--data ${text}: expected a folder such as /var/lib/plinth.`)
}

/** Nothing that exists is replaced: a lost key is lost data. */
async function writeNew(file: string, content: string): Promise<boolean> {
  try {
    await writeFile(file, content, { flag: 'wx', mode: 0o600, flush: true })
    return true
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
  return new CommandError(EXIT.cannotCreate, `${file} is already there; nothing was changed.`)
}

function settingsFor(url: string | undefined, data: string | undefined): string {
  return `# Written by "plinth init". .env.example lists every setting with its default.
NODE_ENV=production
${data === undefined ? '' : `SUITE_DATA=${data}\n`}
IDENTITY_MASTER_KEY_FILE=secrets/identity-master-key
STORAGE_FULL_MASTER_KEY_FILE=secrets/storage-full-master-key
PAYMENTS_MASTER_KEY_FILE=secrets/payments-master-key
STORAGE_KEY_API_KEY_FILE=secrets/storage-key-api-key

# Created at the first start, ignored afterwards.
IDENTITY_ADMIN_USERNAME=admin
IDENTITY_ADMIN_PASSWORD_FILE=secrets/admin-password
STORAGE_FULL_ADMIN_USERNAME=admin
STORAGE_FULL_ADMIN_PASSWORD_FILE=secrets/admin-password

# Who may call payments: keys, issuer or open. Until both keys of the provider are set it answers 503.
PAYMENTS_ACCESS=keys
PROVIDER_SECRET_KEY=
PROVIDER_WEBHOOK_SECRET=

# A backup every day, in UTC, into SUITE_DATA/backups. BACKUP_DIR names a better place: another disk.
# Remove BACKUP_AT where plinth-backup.timer makes it.
BACKUP_AT=02:00

# Mail for forgotten passwords: smtps://user:password@mail.example, and the sender.
SMTP_URL=
MAIL_FROM=
${url === undefined ? '' : addressAt(url)}`
}

function addressAt(url: string): string {
  return `
# What others reach it by, through a proxy on this machine: each service is below this address.
SUITE_PUBLIC_URL=${url}
SUITE_TRUSTED_PROXIES=loopback
`
}
