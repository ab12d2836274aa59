import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { roomRules } from './architecture/rooms.ts'
import { fileRules } from './architecture/rules.ts'
import { type SourceFile, violations } from './architecture/source.ts'

const ROOT = join(import.meta.dirname, '..')
const rules = [...fileRules, ...roomRules]
const FOLDERS = '{packages,services,launcher,cli,release,e2e,test,bench}'

const files: SourceFile[] = globSync(`${FOLDERS}/**/*.{ts,tsx,js,css,html}`, {
  cwd: ROOT,
  exclude: ['**/node_modules/**', '**/dist/**'],
}).map((path) => ({
  path,
  source: readFileSync(join(ROOT, path), 'utf8'),
  dependencies: dependenciesOf(path),
}))

describe('the architecture', () => {
  for (const rule of rules) test(rule.name, () => assert.deepEqual(violations(rule, files), []))
})

/** For each rule a planted violation, followed by the closest code that is allowed. */
const PLANTED: Record<string, [path: string, broken: string, allowed: string][]> = {
  'a file with tests that need root says so in its name': [
    [
      'cli/test/owner.test.ts',
      "import { asRoot, postgres } from '@plinth/kit/testing'",
      "import { postgres } from '@plinth/kit/testing'",
    ],
    ['packages/kit/src/files/owner.test.ts', "import { asRoot } from '../../testing/as.ts'", ''],
  ],
  'request types are imported only by routes, guards, app.ts and kit': [
    [
      'services/payments/src/refunds/refunds.ts',
      "import { type Caller, type Request } from '@plinth/kit/http'",
      "import { type Caller, type Server } from '@plinth/kit/http'",
    ],
    [
      'services/payments/src/refunds/refunds.ts',
      "import type {\n  IncomingMessage,\n} from 'node:http'",
      '',
    ],
  ],
  'row types are not used outside repositories, tables and migrations': [
    [
      'services/payments/src/refunds/refunds.ts',
      "import type { RefundRow } from '../payment/database/tables.ts'",
      "import type { Refund } from '../payment/database/refunds.repository.ts'",
    ],
  ],
  'a repository imports only tables, limits, other repositories and types': [
    [
      'services/payments/src/payment/database/refunds.repository.ts',
      "import { refundStatusOf } from '../../provider/values.ts'",
      "import type { RefundStatus } from '../../provider/provider.ts'",
    ],
  ],
  'a room imports only rooms below it': [
    [
      'services/payments/src/provider/values.ts',
      "import type { Payment } from '../payment/state.ts'",
      "import { readObject } from './provider.ts'",
    ],
    ['services/payments/src/spare/x.ts', "import '../config.ts'", ''],
    [
      'launcher/backups/make.ts',
      "import { startStack } from '../stack/stack.ts'",
      "import { prepareStack } from '../prepare/prepare.ts'",
    ],
    ['cli/command.ts', "import './commands/index.ts'", "import './progress.ts'"],
    [
      'packages/console/shared/shell/shell.tsx',
      "import '../../identity/session.ts'",
      "import './route.ts'",
    ],
  ],
  'independent rooms do not import each other': [
    [
      'services/payments/src/refunds/refunds.ts',
      "import { openCheckout } from '../checkout/checkout.ts'",
      "import { lockRecord } from '../payment/record.ts'",
    ],
    [
      'packages/console/payments/page.tsx',
      "import { session } from '../identity/session.ts'",
      "import { now } from '../shared/clock.ts'",
    ],
  ],
  'a room is imported only through its public files': [
    [
      'services/payments/src/checkout/checkout.ts',
      "import { openStripe } from '../provider/stripe/stripe.ts'",
      "import type { PaymentProvider } from '../provider/provider.ts'",
    ],
  ],
  'no import cycles, type imports included': [
    [
      'packages/kit/src/problems.ts',
      "import type { X } from './problems.ts'",
      "import './other.ts'",
    ],
  ],
  'a package imports only packages below it': [
    [
      'services/payments/src/app.ts',
      "import { x } from '@plinth/accounts'",
      "import { x } from '@plinth/kit/http'",
    ],
    [
      'services/payments/src/app.ts',
      "await import('@plinth/provider-sandbox')",
      "await import('@plinth/console')",
    ],
    ['packages/kit/src/http/page.ts', "import type { User } from '@plinth/accounts'", ''],
    ['cli/commands/run/start.ts', "await import('@plinth/payments')", "import '@plinth/backup'"],
    [
      'packages/accounts/src/users.ts',
      "export { x } from '@plinth/identity'",
      "export { x } from '@plinth/kit/http'",
    ],
  ],
  'the consoles import only types, and only from the client': [
    [
      'packages/console/shared/account/administration/users-page.tsx',
      "import { type UserSummary } from '@plinth/client'",
      "import type { UserSummary } from '@plinth/client'",
    ],
    [
      'packages/console/payments/api.ts',
      "await import('@plinth/client')",
      "import type {\n  Payment,\n} from '@plinth/client'",
    ],
    [
      'packages/console/payments/api.ts',
      "import type { Problem } from '@plinth/kit/problems'",
      "import type { Payment } from '@plinth/client'",
    ],
  ],
  'a relative import stays inside its package': [
    [
      'services/payments/src/app.ts',
      "import '../../identity/src/app.ts'",
      "import './problems.ts'",
    ],
    [
      'cli/commands/run/start.ts',
      "import { startStack } from '../../../launcher/stack/stack.ts'",
      "import { startServices } from '../../../launcher/start.ts'",
    ],
    [
      'launcher/services.ts',
      "await import('../services/identity/src/app.ts')",
      "import identity from '../services/identity/package.json' with { type: 'json' }",
    ],
    ['release/main.ts', "import '../launcher/start.ts'", "import '../cli/plinth.ts'"],
  ],
  'every imported package is declared by its importer': [
    [
      'services/identity/src/app.ts',
      "import x from 'left-pad'",
      "import { join } from 'node:path'",
    ],
  ],
  'a route does not import a repository': [
    [
      'packages/accounts/src/users.routes.ts',
      "import { x } from './users.repository.ts'",
      "import { x } from './users.ts'",
    ],
  ],
  'only app.ts, host.ts and a face import routes': [
    ['packages/accounts/src/users.ts', "import { x } from './users.routes.ts'", ''],
  ],
  'the web framework stays in kit': [
    [
      'services/identity/src/users.routes.ts',
      "import Fastify from 'fastify'",
      "import type { Server } from '@plinth/kit/http'",
    ],
    ['services/identity/src/app.ts', "import x from '@fastify/static'", ''],
  ],
  'the query builder stays in repositories, tables and migrations': [
    ['services/payments/src/payment-state.ts', "import { sql } from 'kysely'", ''],
    ['cli/commands/doctor/stores/database.ts', "import pg from 'pg'", ''],
  ],
  'production code imports no test support': [
    ['services/identity/src/app.ts', "import { testClock } from '@plinth/kit/testing'", ''],
  ],
  'process.env is used only as the default argument of loadConfig': [
    ['services/identity/src/app.ts', 'const port = process.env.PORT', '// never process.env here'],
    ['launcher/stack/landing.ts', 'const port = process.env.PORT', ''],
    [
      'services/identity/src/config.ts',
      'const port = process.env.PORT',
      'function loadConfig(env: Env = process.env) {',
    ],
  ],
  'the time comes from a clock': [
    [
      'services/identity/src/sessions.ts',
      'const now = Date.now()',
      'const then = new Date(row.expires_at)',
    ],
    [
      'services/identity/src/sessions.ts',
      'const now = new Date()',
      '/** Unlike Date.now() it can be set. */',
    ],
    ['cli/commands/events/listen.ts', 'const now = Date.now()', 'const now = systemClock()'],
  ],
  'no enums and no namespaces: Node only strips types': [
    [
      'packages/kit/src/problem.ts',
      'export enum Colour { Red }',
      "const text = 'an enum of colours'",
    ],
    ['packages/kit/src/problem.ts', 'const enum Colour { Red }', ''],
    ['packages/kit/src/problem.ts', 'export namespace Colours {', "declare module 'fastify' {"],
  ],
  'a package exports by name, not with export *': [
    [
      'packages/kit/src/http/index.ts',
      "export * from './problem.ts'",
      "export { Problem } from './problem.ts'",
    ],
  ],
  'work in a transaction returns its outcome, and assigns no variable outside itself': [
    [
      'services/identity/src/sessions.ts',
      'let refusal\nconst opened = await inTransaction(accounts.db, async (db) => {\n  refusal = await ask(db)\n})',
      'const refusal = await inTransaction(accounts.db, async (db) => {\n  return ask(db)\n})',
    ],
    [
      'services/identity/src/gate.ts',
      "let outcome: Outcome = 'wrong'\nconst entry = {\n  async admit(db: Db<Tables>, locked: Promise<User>): Promise<boolean> {\n    if (await locked) outcome = await prove(db)\n  },\n}",
      "let outcome: Outcome = 'wrong'\nif (await isLocked(db)) {\n  outcome = 'locked'\n}",
    ],
    [
      'services/identity/src/counts.ts',
      'let count = 0\nawait changeAll(async (db) => {\n  count += await change(db)\n})',
      'let count = 0\nawait changeAll(async (db) => {\n  let count = 0\n  count += await change(db)\n  return count\n})',
    ],
  ],
  'the failure of a query is not ignored': [
    [
      'services/identity/src/sessions.ts',
      "import { markSeen } from './users.repository.ts'\nawait markSeen(db, {\n  at: clock(),\n}).catch(() => {})",
      "import { markSeen } from './users.repository.ts'\nawait markSeen(db, user).catch((err) => log.error({ err }))",
    ],
    [
      'services/identity/src/sessions.ts',
      "import { markSeen } from './users.repository.ts'\ntry {\n  await markSeen(db, user)\n} catch {}",
      "import { markSeen } from './users.repository.ts'\ntry {\n  await markSeen(db, user)\n} catch (err) {\n  log.error({ err })\n}",
    ],
  ],
  'the tables of a database are checked: no cast gives it others': [
    [
      'services/identity/src/gate.ts',
      'const inside = database as unknown as Db<IdentityTables>',
      'async ask(inside: Db<IdentityTables>, user) {',
    ],
    ['services/identity/src/recovery.ts', "db: db as unknown as Accounts['db']", ''],
  ],
  'a test on an engine takes its options, which say which command runs it': [
    [
      'services/payments/test/refunds.test.ts',
      'describe(name, { skip: engine.skip }, () => {})',
      'describe(name, engine.options, () => {})',
    ],
  ],
  'end-to-end tests import no code of services or packages': [
    [
      'e2e/sign-in.test.ts',
      "import { x } from '@plinth/identity'",
      "import { startStack } from '../launcher/start-stack.ts'",
    ],
  ],
}

/** Rules about several files or about names have their own tests. */
const PLANTED_BELOW = ['a file name describes its content']

describe('a planted violation fails the architecture test', () => {
  for (const rule of rules.filter(({ name }) => !PLANTED_BELOW.includes(name)))
    test(rule.name, () => {
      const planted = PLANTED[rule.name] ?? []

      assert.ok(planted.length > 0, 'the rule has no planted violation')
      for (const [path, broken, allowed] of planted) {
        assert.equal(violations(rule, [{ path, source: broken }]).length, 1, `${path}: ${broken}`)
        assert.deepEqual(violations(rule, [{ path, source: allowed }]), [])
      }
    })

  test('no import cycles, type imports included: a cycle of three files', () => {
    const cycle = {
      'packages/kit/src/a.ts': "import type { B } from './b.ts'",
      'packages/kit/src/b.ts': "import { c } from './c.ts'",
      'packages/kit/src/c.ts': "export { a } from './a.ts'",
    }

    const name = 'no import cycles, type imports included'
    const launcher = {
      'launcher/config.ts': "import { services } from './services.ts'",
      'launcher/services.ts': "import type { Config } from './config.ts'",
    }
    assert.equal(violationsOf(name, launcher).length, 1)
    assert.equal(violationsOf(name, cycle).length, 1)
    assert.deepEqual(violationsOf(name, { ...cycle, 'packages/kit/src/c.ts': '' }), [])
  })

  test('a file name describes its content', () => {
    const found = (path: string) =>
      violationsOf('a file name describes its content', [path]).length > 0

    for (const name of [
      'utils.ts',
      'file-utils.ts',
      'user.service.ts',
      'token-manager.ts',
      'helpers/x.ts',
    ])
      for (const folder of ['packages/kit/src', 'packages/console/shared', 'cli', 'launcher/stack'])
        assert.ok(found(`${folder}/${name}`), `${folder}/${name}`)
    for (const name of ['services.ts', 'database.ts', 'information.ts', 'users.routes.ts'])
      assert.ok(!found(`packages/kit/src/${name}`), name)
  })
})

/** What the rule of this name finds in made-up files, given as paths alone or with their text. */
function violationsOf(name: string, given: string[] | Record<string, string>): string[] {
  const rule = rules.find((each) => each.name === name)
  assert.ok(rule, name)
  const sources = Array.isArray(given) ? given.map((path) => [path, '']) : Object.entries(given)
  return violations(
    rule,
    sources.map(([path = '', source = '']) => ({ path, source })),
  )
}

type Manifest = { name?: string; scripts?: object; dependencies?: object }

function manifest(folder: string): Manifest | undefined {
  try {
    return JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'))
  } catch {
    return undefined
  }
}

function dependenciesOf(path: string): string[] {
  const owner = manifest(path.split('/').slice(0, 2).join('/'))
  return [owner?.name ?? '', ...Object.keys(owner?.dependencies ?? {})]
}
