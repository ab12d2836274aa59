import {
  importedNames,
  matches,
  perFile,
  perSource,
  placeOf,
  type Rule,
  resolve,
} from './source.ts'

/** Which packages a package may import. An import that is not listed is not allowed. */
const MAY_IMPORT: Record<string, string[]> = {
  kit: [],
  client: [],
  console: ['client'],
  'service-keys': ['kit'],
  'erased-users': ['kit'],
  events: ['kit', 'service-keys'],
  accounts: ['kit', 'service-keys', 'events'],
  backup: ['kit'],
  identity: ['kit', 'service-keys', 'events', 'accounts', 'console'],
  'storage-full': ['kit', 'service-keys', 'erased-users', 'events', 'accounts', 'console'],
  'storage-key': ['kit', 'service-keys', 'console'],
  payments: ['kit', 'service-keys', 'erased-users', 'events', 'console'],
  'provider-sandbox': ['kit', 'console'],
  launcher: [
    ...['kit', 'service-keys', 'accounts', 'backup', 'console'],
    ...['identity', 'storage-full', 'storage-key', 'payments', 'provider-sandbox'],
  ],
  // The commands about files are for one service only.
  cli: ['kit', 'service-keys', 'events', 'accounts', 'backup', 'storage-full'],
  release: ['kit'],
}

/** The files of other top-level folders that these may import: they have no package name. */
const FACES: Record<string, RegExp> = {
  launcher: /^services\/[^/]+\/package\.json$/,
  cli: /^launcher\/((services|config|start|prepare\/prepare|backups\/(make|bucket|open-archive|suite-data))\.ts|compile-cache\.js)$|^package\.json$/,
  release: /^(launcher\/services|cli\/plinth|packages\/client\/pack)\.ts$/,
}

const FORBIDDEN_NAME =
  /(^|[.-])(utils?|helpers?|common|misc)([.-]|$)|[.-](managers?|service)(\.ts|$)|^(data|info)(\.|$)/
const SQL_HOMES = /^packages\/kit\/|\.repository\.ts$|\/tables\.ts$|\/migrations\//
/** Settings, and the entry points that pass the environment on to them. */
const READS_ENVIRONMENT =
  /\/config\.ts$|^packages\/kit\/src\/http\/run\.ts$|^cli\/plinth\.ts$|^launcher\/(stack\/stack|backups\/backup-process)\.ts$/
/** Has code of other programs in it, for the user to copy. */
const SHOWS_CODE = 'packages/console/shared/account/administration/events/endpoints.tsx'
/** `release/library.ts` gives a service to a server that is not ours. */
const REQUEST_HOMES = /\.routes\.ts$|-guard\.ts$|\/app\.ts$|^release\/library\.ts$/
const REQUEST_TYPES = /^(IncomingMessage|ServerResponse|Request|Reply)$/
/** The client is given no clock; its caller may pass one. A page has the browser's. */
const OWN_CLOCKS =
  /^packages\/(kit\/src\/runtime\/clock\.ts|client\/src\/webhooks\.ts|console\/.*)$/
/** Of a call, with calls among them. */
const OPERANDS = String.raw`\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)`
const IGNORED = String.raw`(\.catch\(\(\)|\.catch\(\(\w+\) => \{\s*\}|\s*\} catch (\(\w+\) \{\s*\}|\{))`
/** Remembers the executor of the attempt that committed; each attempt sets it first. */
const RETRIES = 'packages/kit/src/database/transaction.ts'
/** The head of a function whose first parameter is a database: the form of all work in a transaction. */
const DATABASE_WORK =
  /(?:^|[^\w.])(?!(?:if|for|while|switch)\b)\w*\(\s*(?:db|database|transaction|inside)\b[^()]*(?:\([^()]*\)[^()]*)*\)(?::[^={};]+)?(?:\s=>)? \{/gm
/** An import of one of our packages that remains when the types are stripped. */
const RUNTIME_IMPORT = /^(import|export)(?! type\b)[^'=]*'@plinth\/.*|import\('@plinth\/.*/m

export const fileRules: Rule[] = [
  perSource('a package imports only packages below it', ({ imports, owner }) =>
    imports
      .filter((name) => name.startsWith('@plinth/'))
      .filter((name) => !MAY_IMPORT[owner]?.includes(name.split('/')[1] ?? '')),
  ),
  perFile('the consoles import only types, and only from the client', (file) =>
    file.path.startsWith('packages/console/')
      ? [
          ...matches(file, RUNTIME_IMPORT),
          ...file.imports.filter((name) => /^@plinth\/(?!client$)/.test(name)),
        ]
      : [],
  ),
  perSource('a relative import stays inside its package', ({ path, imports }) => {
    const { owner } = placeOf(path)
    return imports
      .filter((name) => name.startsWith('.'))
      .filter((name) => {
        const target = resolve(path, name)
        return homeOf(target) !== homeOf(path) && !FACES[owner]?.test(target)
      })
  }),
  perSource('every imported package is declared by its importer', (file) =>
    // The top-level folders have no manifest of their own.
    file.path.startsWith('packages/') || file.path.startsWith('services/')
      ? file.imports.map(packageName).filter((name) => name && !file.dependencies?.includes(name))
      : [],
  ),
  perSource('a route does not import a repository', ({ path, imports }) =>
    path.endsWith('.routes.ts') ? imports.filter((name) => SQL_HOMES.test(name)) : [],
  ),
  perSource('only app.ts, host.ts and a face import routes', ({ path, imports }) =>
    /\/(app|host|index)\.ts$|^launcher\/stack\/(landing|management)\.ts$/.test(path)
      ? []
      : imports.filter((name) => name.endsWith('.routes.ts')),
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
  perSource('production code imports no test support', ({ imports }) =>
    imports.filter((name) => /\/testing(\/|$)/.test(name)),
  ),
  perSource('process.env is used only as the default argument of loadConfig', (file) =>
    READS_ENVIRONMENT.test(file.path) || file.path === SHOWS_CODE
      ? matches(file, /process\.env(?!\s*[,)])/).filter(() => file.path.endsWith('/config.ts'))
      : matches(file, /process\.env\b/),
  ),
  perSource('the time comes from a clock', (file) =>
    OWN_CLOCKS.test(file.path) ? [] : matches(file, /Date\.now\(|new Date\(\)|new Date\b(?!\()/),
  ),
  perSource('no enums and no namespaces: Node only strips types', (file) => [
    ...matches(file, /^\s*(export\s+)?(declare\s+)?(const\s+)?enum\s+\w+/m),
    ...matches(file, /^\s*(export\s+)?(declare\s+)?(namespace|module)\s+[\w.]+\s*\{/m),
  ]),
  perSource('a package exports by name, not with export *', (file) =>
    matches(file, /^\s*export \*/m),
  ),
  perFile('a file name describes its content', ({ path }) =>
    path
      .split('/')
      .slice(1)
      .filter((part) => FORBIDDEN_NAME.test(part)),
  ),
  perSource('request types are imported only by routes, guards, app.ts and kit', (file) =>
    file.owner === 'kit' || REQUEST_HOMES.test(file.path)
      ? []
      : importedNames(file, /^(@plinth\/kit\/http|node:http)$/)
          .filter(({ name }) => REQUEST_TYPES.test(name))
          .map(({ name }) => name),
  ),
  perSource('row types are not used outside repositories, tables and migrations', (file) =>
    // In a page, a row is one of a table on the screen.
    SQL_HOMES.test(file.path) || file.owner === 'console' ? [] : matches(file, /\b[A-Z]\w*Row\b/),
  ),
  perSource('a repository imports only tables, limits, other repositories and types', (file) =>
    file.path.endsWith('.repository.ts') && file.owner !== 'kit'
      ? importedNames(file, /^\.(?!.*(\.repository|\/tables|\/limits)\.ts$)/)
          .filter(({ isType }) => !isType)
          .map(({ from }) => from)
      : [],
  ),
  perSource(
    'work in a transaction returns its outcome, and assigns no variable outside itself',
    (file) => (file.path === RETRIES ? [] : outerAssignments(file.source)),
  ),
  perSource('the failure of a query is not ignored', (file) =>
    importedNames(file, /\.repository\.ts$/).flatMap(({ name }) =>
      matches(file, new RegExp(`\\b${name}${OPERANDS}${IGNORED}`)),
    ),
  ),
  perSource('the tables of a database are checked: no cast gives it others', (file) =>
    matches(file, /as unknown as (\w*Db\b|Kysely\b|Connection\b|[\w.[\]']*\bdb\b).*/),
  ),
  perFile('a test on an engine takes its options, which say which command runs it', (file) =>
    file.path.startsWith('test/') ? [] : matches(file, /\{ *skip: engine\.skip\b[^}]*\}/),
  ),
  perFile('a file with tests that need root says so in its name', (file) =>
    file.path.startsWith('test/') || /\.root\./.test(file.path)
      ? []
      : importedNames(file, /testing/)
          .filter(({ name }) => name === 'asRoot')
          .map(({ name }) => name),
  ),
  perFile('end-to-end tests import no code of services or packages', ({ path, imports }) =>
    path.startsWith('e2e/')
      ? imports.filter((name) => /^@plinth\/(?!client)|\/(packages|services)\//.test(name))
      : [],
  ),
]

/** Work is retried, so what a failed attempt has assigned would outlive it. */
function outerAssignments(source: string): string[] {
  return [...source.matchAll(DATABASE_WORK)].flatMap(({ 0: head, index }) => {
    const start = index + head.length
    const body = source.slice(start, endOfBlock(source, start))
    const own = new Set(declaredIn(body, 'let|const'))
    return declaredIn(source.slice(0, index), 'let')
      .filter((name) => !own.has(name))
      .filter((name) =>
        new RegExp(`(^|[^\\w.])${name}( [-+*/|&?]{0,2}= |\\+\\+|--)`, 'm').test(body),
      )
  })
}

function declaredIn(source: string, keyword: string): string[] {
  const declaration = new RegExp(`\\b(?:${keyword}) (\\w+|\\[[^\\]]*\\]|\\{[^}]*\\})`, 'g')
  return [...source.matchAll(declaration)].flatMap(([, names = '']) => names.match(/\w+/g) ?? [])
}

/** The end of the block whose brace opened before `start`. */
function endOfBlock(source: string, start: number): number {
  for (let depth = 1, at = start; at < source.length; at += 1) {
    if (source[at] === '{') depth += 1
    if (source[at] === '}') depth -= 1
    if (depth === 0) return at
  }
  return source.length
}

/** The folder of a package, or a top-level folder. */
function homeOf(path: string): string {
  const [first = '', second = ''] = path.split('/')
  return first === 'packages' || first === 'services' ? `${first}/${second}` : first
}

/** The npm package of an import; empty for Node's own modules and for relative imports. */
function packageName(imported: string): string {
  // `${…}` is an import in code that a page shows.
  if (/^(\.|node:|\$)/.test(imported)) return ''
  return imported
    .split('/')
    .slice(0, imported.startsWith('@') ? 2 : 1)
    .join('/')
}
