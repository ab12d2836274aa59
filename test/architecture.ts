/** The shape of the project, as rules over file paths and source text. Nothing here touches the disk. */
export type SourceFile = { path: string; source: string; dependencies?: string[] }
type Rule = { name: string; broken(file: Code): string[] }
type Code = SourceFile & { imports: string[]; owner: string; isTest: boolean }

/** Who may import whom. An edge that is not listed here does not exist. */
const MAY_IMPORT: Record<string, string[]> = {
  kit: [],
  client: [],
  console: ['client'],
  accounts: ['kit'],
  identity: ['kit', 'accounts', 'console'],
  'storage-full': ['kit', 'accounts', 'console'],
  'storage-key': ['kit', 'console'],
  payments: ['kit', 'console'],
  'provider-sandbox': ['kit', 'console'],
}

const FORBIDDEN_NAME =
  /(^|[.-])(utils?|helpers?|common|misc)([.-]|$)|[.-](managers?|service)(\.ts|$)|^(data|info)(\.|$)/
const SQL_HOMES = /^packages\/kit\/|\.repository\.ts$|\/tables\.ts$|\/migrations\//
const READS_ENVIRONMENT = /\/config\.ts$|^packages\/kit\/src\/(testing\/|http\/run\.ts$)/
const LINES_PER_FILE = 250
/** An import of ours that is still there when the types are stripped. */
const CODE_OF_OURS = /^(import|export)(?! type\b)[^'=]*'@plinth\/.*|import\('@plinth\/.*/m

export const rules: Rule[] = [
  source('packages import only the packages below them', ({ imports, owner }) =>
    imports
      .filter((name) => name.startsWith('@plinth/'))
      .filter((name) => !MAY_IMPORT[owner]?.includes(name.split('/')[1] ?? '')),
  ),
  {
    name: 'the consoles take types from the client and run nothing of it',
    broken: (file) =>
      file.path.startsWith('packages/console/')
        ? [
            ...matches(file, CODE_OF_OURS),
            ...file.imports.filter((name) => /^@plinth\/(?!client$)/.test(name)),
          ]
        : [],
  },
  source('a relative import stays inside its package', ({ path, imports }) => {
    const home = path.split('/').slice(0, 2).join('/')
    return imports.filter(
      (name) => name.startsWith('.') && !resolve(path, name).startsWith(`${home}/`),
    )
  }),
  source('every imported package is declared by the package that imports it', (file) =>
    file.imports.map(packageName).filter((name) => name && !file.dependencies?.includes(name)),
  ),
  source('a route does not reach past the rules into a repository', ({ path, imports }) =>
    path.endsWith('.routes.ts') ? imports.filter((name) => SQL_HOMES.test(name)) : [],
  ),
  source('only the wiring imports routes', ({ path, imports }) =>
    /\/(app|host)\.ts$/.test(path) ? [] : imports.filter((name) => name.endsWith('.routes.ts')),
  ),
  source('the web framework stays in kit', ({ owner, imports }) =>
    owner === 'kit' ? [] : imports.filter((name) => /^@?fastify/.test(name)),
  ),
  source('the query builder stays in repositories, tables and migrations', ({ path, imports }) =>
    SQL_HOMES.test(path) ? [] : imports.filter((name) => /^(kysely|pg|better-sqlite3)$/.test(name)),
  ),
  source('no test support in what runs', ({ path, imports }) =>
    /\/testing(\.ts|\/)/.test(path) ? [] : imports.filter((name) => /\/testing(\.ts)?$/.test(name)),
  ),
  source('settings are a value: process.env is the default argument of loadConfig', (file) =>
    READS_ENVIRONMENT.test(file.path)
      ? matches(file, /process\.env(?!\s*[,)])/).filter(() => file.path.endsWith('/config.ts'))
      : matches(file, /process\.env\b/),
  ),
  source('the time comes from a clock', (file) =>
    file.path === 'packages/kit/src/runtime/clock.ts'
      ? []
      : matches(file, /Date\.now\(|new Date\(\)|new Date\b(?!\()/),
  ),
  source('no enums and no namespaces: sources run as they are', (file) => [
    ...matches(file, /^\s*(export\s+)?(declare\s+)?(const\s+)?enum\s+\w+/m),
    ...matches(file, /^\s*(export\s+)?(declare\s+)?(namespace|module)\s+[\w.]+\s*\{/m),
  ]),
  source('a package shows what it exports, by name', (file) => matches(file, /^\s*export \*/m)),
  source('a source file is short enough to read', ({ source }) => {
    const lines = source.split('\n').length - 1
    return lines > LINES_PER_FILE ? [`${lines} lines`] : []
  }),
  {
    name: 'a file name says what is in it',
    broken: ({ path }) =>
      path
        .split('/')
        .slice(2)
        .filter((part) => FORBIDDEN_NAME.test(part)),
  },
  {
    name: 'end-to-end tests see the stack from outside',
    broken: ({ path, imports }) =>
      path.startsWith('e2e/')
        ? imports.filter((name) => /^@plinth\/(?!client)|\/(packages|services)\//.test(name))
        : [],
  },
]

/** `path: finding` for everything in these files that breaks the rule. */
export function violations(rule: Rule, files: SourceFile[]): string[] {
  return files.flatMap((file) =>
    rule.broken(read(file)).map((finding) => `${file.path}: ${finding}`),
  )
}

/** A rule about what runs, not about its tests. */
function source(name: string, broken: Rule['broken']): Rule {
  return { name, broken: (file) => (file.isTest ? [] : broken(file)) }
}

function read(file: SourceFile): Code {
  const code = withoutComments(file.source)
  const [folder, name] = file.path.split('/')
  return {
    ...file,
    source: code,
    imports: [...code.matchAll(/\bfrom\s+'([^']+)'|\bimport\s*\(?\s*'([^']+)'/g)].map(
      (found) => found[1] ?? found[2] ?? '',
    ),
    owner: folder === 'packages' || folder === 'services' ? (name ?? '') : (folder ?? ''),
    isTest: !/^(packages|services)\/[^/]+\/src\/(?!.*\.test\.ts$)/.test(file.path),
  }
}

// Line breaks stay, so that the length of a file is still its length.
function withoutComments(source: string): string {
  return source
    .replace(/^\s*\/\*[\s\S]*?\*\//gm, (comment) => comment.replace(/[^\n]/g, ''))
    .replace(/(^|\s)\/\/ .*$/gm, '')
}

function matches({ source }: Code, pattern: RegExp): string[] {
  return [...source.matchAll(new RegExp(pattern, `g${pattern.flags}`))].map((found) =>
    found[0].trim(),
  )
}

/** The npm package an import comes from; nothing for Node's own and for files of ours. */
function packageName(imported: string): string {
  if (/^(\.|node:)/.test(imported)) return ''
  return imported
    .split('/')
    .slice(0, imported.startsWith('@') ? 2 : 1)
    .join('/')
}

function resolve(from: string, relative: string): string {
  return new URL(relative, `file:///${from}`).pathname.slice(1)
}
