import { importedNames, matches, perFile, perSource, type Rule, resolve } from './source.ts'

/** Who may import whom. An edge that is not listed here does not exist. */
const MAY_IMPORT: Record<string, string[]> = {
  kit: [],
  client: [],
  console: ['client'],
  events: ['kit'],
  accounts: ['kit', 'events'],
  backup: ['kit'],
  identity: ['kit', 'events', 'accounts', 'console'],
  'storage-full': ['kit', 'events', 'accounts', 'console'],
  'storage-key': ['kit', 'console'],
  payments: ['kit', 'events', 'console'],
  'provider-sandbox': ['kit', 'console'],
}

const FORBIDDEN_NAME =
  /(^|[.-])(utils?|helpers?|common|misc)([.-]|$)|[.-](managers?|service)(\.ts|$)|^(data|info)(\.|$)/
const SQL_HOMES = /^packages\/kit\/|\.repository\.ts$|\/tables\.ts$|\/migrations\//
const READS_ENVIRONMENT = /\/config\.ts$|^packages\/kit\/src\/http\/run\.ts$/
const REQUEST_TYPES = /^(IncomingMessage|ServerResponse|Request|Reply)$/
const LINES_PER_FILE = 250
/** An import of ours that is still there when the types are stripped. */
const CODE_OF_OURS = /^(import|export)(?! type\b)[^'=]*'@plinth\/.*|import\('@plinth\/.*/m

export const fileRules: Rule[] = [
  perSource('packages import only the packages below them', ({ imports, owner }) =>
    imports
      .filter((name) => name.startsWith('@plinth/'))
      .filter((name) => !MAY_IMPORT[owner]?.includes(name.split('/')[1] ?? '')),
  ),
  perFile('the consoles take types from the client and run nothing of it', (file) =>
    file.path.startsWith('packages/console/')
      ? [
          ...matches(file, CODE_OF_OURS),
          ...file.imports.filter((name) => /^@plinth\/(?!client$)/.test(name)),
        ]
      : [],
  ),
  perSource('a relative import stays inside its package', ({ path, imports }) => {
    const home = path.split('/').slice(0, 2).join('/')
    return imports.filter(
      (name) => name.startsWith('.') && !resolve(path, name).startsWith(`${home}/`),
    )
  }),
  perSource('every imported package is declared by the package that imports it', (file) =>
    file.imports.map(packageName).filter((name) => name && !file.dependencies?.includes(name)),
  ),
  perSource('a route does not reach past the rules into a repository', ({ path, imports }) =>
    path.endsWith('.routes.ts') ? imports.filter((name) => SQL_HOMES.test(name)) : [],
  ),
  perSource('only the wiring imports routes', ({ path, imports }) =>
    /\/(app|host)\.ts$/.test(path) ? [] : imports.filter((name) => name.endsWith('.routes.ts')),
  ),
  perSource('the web framework stays in kit', ({ owner, imports }) =>
    owner === 'kit' ? [] : imports.filter((name) => /^@?fastify/.test(name)),
  ),
  perSource(
    'the query builder stays in repositories, tables and migrations',
    ({ path, imports }) =>
      SQL_HOMES.test(path)
        ? []
        : imports.filter((name) => /^(kysely|pg|better-sqlite3)$/.test(name)),
  ),
  perSource('no test support in what runs', ({ imports }) =>
    imports.filter((name) => /\/testing(\/|$)/.test(name)),
  ),
  perSource('settings are a value: process.env is the default argument of loadConfig', (file) =>
    READS_ENVIRONMENT.test(file.path)
      ? matches(file, /process\.env(?!\s*[,)])/).filter(() => file.path.endsWith('/config.ts'))
      : matches(file, /process\.env\b/),
  ),
  perSource('the time comes from a clock', (file) =>
    file.path === 'packages/kit/src/runtime/clock.ts'
      ? []
      : matches(file, /Date\.now\(|new Date\(\)|new Date\b(?!\()/),
  ),
  perSource('no enums and no namespaces: sources run as they are', (file) => [
    ...matches(file, /^\s*(export\s+)?(declare\s+)?(const\s+)?enum\s+\w+/m),
    ...matches(file, /^\s*(export\s+)?(declare\s+)?(namespace|module)\s+[\w.]+\s*\{/m),
  ]),
  perSource('a package shows what it exports, by name', (file) => matches(file, /^\s*export \*/m)),
  perSource('a source file is short enough to read', ({ path, source }) => {
    if (!/\.tsx?$/.test(path)) return []
    const lines = source.split('\n').length - 1
    return lines > LINES_PER_FILE ? [`${lines} lines`] : []
  }),
  perFile('a file name says what is in it', ({ path }) =>
    path
      .split('/')
      .slice(2)
      .filter((part) => FORBIDDEN_NAME.test(part)),
  ),
  perSource('a rule sees no request: request types are named in routes, app.ts and kit', (file) =>
    file.owner === 'kit' || /\.routes\.ts$|\/app\.ts$/.test(file.path)
      ? []
      : importedNames(file, /^(@plinth\/kit|node:http)$/)
          .filter(({ name }) => REQUEST_TYPES.test(name))
          .map(({ name }) => name),
  ),
  perSource('a row does not leave its repository', (file) =>
    SQL_HOMES.test(file.path) ? [] : matches(file, /\b[A-Z]\w*Row\b/),
  ),
  perSource('a repository imports tables, other repositories and types', (file) =>
    file.path.endsWith('.repository.ts') && file.owner !== 'kit'
      ? importedNames(file, /^\.(?!.*(\.repository|\/tables)\.ts$)/)
          .filter(({ isType }) => !isType)
          .map(({ from }) => from)
      : [],
  ),
  perFile('end-to-end tests see the stack from outside', ({ path, imports }) =>
    path.startsWith('e2e/')
      ? imports.filter((name) => /^@plinth\/(?!client)|\/(packages|services)\//.test(name))
      : [],
  ),
]

/** The npm package an import comes from; nothing for Node's own and for files of ours. */
function packageName(imported: string): string {
  if (/^(\.|node:)/.test(imported)) return ''
  return imported
    .split('/')
    .slice(0, imported.startsWith('@') ? 2 : 1)
    .join('/')
}
