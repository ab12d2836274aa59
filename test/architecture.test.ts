import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { rules, type SourceFile, violations } from './architecture.ts'

const ROOT = join(import.meta.dirname, '..')
const FOLDERS = '{packages,services,launcher,e2e,test,bench}'

const files: SourceFile[] = globSync(`${FOLDERS}/**/*.{ts,tsx}`, {
  cwd: ROOT,
  exclude: ['**/node_modules/**', '**/dist/**'],
}).map((path) => ({
  path,
  source: readFileSync(join(ROOT, path), 'utf8'),
  dependencies: dependenciesOf(path),
}))

describe('the architecture', () => {
  for (const rule of rules) test(rule.name, () => assert.deepEqual(violations(rule, files), []))

  test('the root has at most eight scripts', () => {
    const scripts = Object.keys(manifest('.')?.scripts ?? {})

    assert.ok(scripts.length <= 8, scripts.join(' '))
  })
})

/** One planted violation per rule and, after it, the nearest thing that is allowed. */
const PLANTED: Record<string, [path: string, broken: string, allowed: string][]> = {
  'packages import only the packages below them': [
    [
      'services/payments/src/app.ts',
      "import { x } from '@plinth/accounts'",
      "import { x } from '@plinth/kit'",
    ],
    [
      'services/payments/src/app.ts',
      "await import('@plinth/provider-sandbox')",
      "await import('@plinth/console')",
    ],
    ['packages/kit/src/page.ts', "import type { User } from '@plinth/accounts'", ''],
    [
      'packages/accounts/src/users.ts',
      "export { x } from '@plinth/identity'",
      "export { x } from '@plinth/kit'",
    ],
  ],
  'the consoles take types from the client and run nothing of it': [
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
      "import type { Problem } from '@plinth/kit'",
      "import type { Payment } from '@plinth/client'",
    ],
  ],
  'a relative import stays inside its package': [
    [
      'services/payments/src/app.ts',
      "import '../../identity/src/app.ts'",
      "import './problems.ts'",
    ],
  ],
  'every imported package is declared by the package that imports it': [
    [
      'services/identity/src/app.ts',
      "import x from 'left-pad'",
      "import { join } from 'node:path'",
    ],
  ],
  'a route does not reach past the rules into a repository': [
    [
      'packages/accounts/src/users.routes.ts',
      "import { x } from './users.repository.ts'",
      "import { x } from './users.ts'",
    ],
  ],
  'only the wiring imports routes': [
    ['packages/accounts/src/users.ts', "import { x } from './users.routes.ts'", ''],
  ],
  'the web framework stays in kit': [
    [
      'services/identity/src/users.routes.ts',
      "import Fastify from 'fastify'",
      "import type { Server } from '@plinth/kit'",
    ],
    ['services/identity/src/app.ts', "import x from '@fastify/static'", ''],
  ],
  'the query builder stays in repositories, tables and migrations': [
    ['services/payments/src/payment-state.ts', "import { sql } from 'kysely'", ''],
  ],
  'no test support in what runs': [
    ['services/identity/src/app.ts', "import { testClock } from '@plinth/kit/testing'", ''],
  ],
  'settings are a value: process.env is the default argument of loadConfig': [
    ['services/identity/src/app.ts', 'const port = process.env.PORT', '// never process.env here'],
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
      '/** Unlike Date.now() it can be moved. */',
    ],
  ],
  'no enums and no namespaces: sources run as they are': [
    [
      'packages/kit/src/problem.ts',
      'export enum Colour { Red }',
      "const text = 'an enum of colours'",
    ],
    ['packages/kit/src/problem.ts', 'const enum Colour { Red }', ''],
    ['packages/kit/src/problem.ts', 'export namespace Colours {', "declare module 'fastify' {"],
  ],
  'a package shows what it exports, by name': [
    [
      'packages/kit/src/index.ts',
      "export * from './problem.ts'",
      "export { Problem } from './problem.ts'",
    ],
  ],
  'a source file is short enough to read': [
    ['packages/kit/src/problem.ts', 'let x\n'.repeat(251), 'let x\n'.repeat(250)],
  ],
  'end-to-end tests see the stack from outside': [
    [
      'e2e/sign-in.test.ts',
      "import { x } from '@plinth/identity'",
      "import { startStack } from '../launcher/start-stack.ts'",
    ],
  ],
}

describe('a planted violation turns the architecture test red', () => {
  for (const rule of rules.filter(({ name }) => name !== 'a file name says what is in it'))
    test(rule.name, () => {
      const planted = PLANTED[rule.name] ?? []

      assert.ok(planted.length > 0, 'the rule has no planted violation')
      for (const [path, broken, allowed] of planted) {
        assert.equal(violations(rule, [{ path, source: broken }]).length, 1, `${path}: ${broken}`)
        assert.deepEqual(violations(rule, [{ path, source: allowed }]), [])
      }
    })

  test('a file name says what is in it', () => {
    const rule = rules.find(({ name }) => name === 'a file name says what is in it')
    const found = (path: string) => rule && violations(rule, [{ path, source: '' }]).length > 0

    for (const name of [
      'utils.ts',
      'file-utils.ts',
      'user.service.ts',
      'token-manager.ts',
      'helpers/x.ts',
    ])
      assert.ok(found(`packages/kit/src/${name}`), name)
    for (const name of ['services.ts', 'database.ts', 'information.ts', 'users.routes.ts'])
      assert.ok(!found(`packages/kit/src/${name}`), name)
  })
})

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
