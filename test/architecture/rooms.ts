import { type Code, placeOf, type Rule, resolve } from './source.ts'

/** A service serves its own pages, so they share nothing with those of another. */
const CONSOLES = [
  'identity',
  'landing',
  'payments',
  'reference',
  'sandbox',
  'storage-full',
  'storage-key',
]

/**
 * The rooms of each package, lowest first. A file imports only from its own room and from those
 * before it, type imports included.
 */
export const LAYERS: Record<string, string[]> = {
  kit: [
    'problems',
    'metrics',
    'tracing',
    'runtime',
    'logging',
    'database',
    'tokens',
    'http',
    'files',
  ],
  'service-keys': [],
  'erased-users': [],
  events: [
    'problems',
    'limits',
    'database',
    'events',
    'endpoints',
    'delivery',
    'history',
    'host',
    'index',
  ],
  accounts: [
    'problems',
    'audit-events',
    'passwords',
    'settings',
    'database',
    'accounts',
    'audit',
    'users',
    'sessions',
    'operator',
    'backup-data',
    'measure',
    'doctor',
    'host',
    'index',
  ],
  backup: [
    'faults',
    'sources',
    'databases',
    'archive',
    'create',
    'kept',
    'restore',
    'verify',
    'move',
    'index',
  ],
  client: [
    'generated',
    'http',
    'session',
    'webhooks',
    'code-flow',
    'operations',
    'service-keys',
    'events',
    'audit-log',
    'accounts',
    'identity',
    'storage',
    'storage-key',
    'payments',
    'index',
  ],
  identity: [
    'scopes',
    'audit',
    'limits',
    'database',
    'tokens',
    'mail',
    'factors',
    'notices',
    'registration',
    'recovery',
    'deletion',
    'export',
    'passkeys',
    'sign-in-code',
    'federation',
    'oauth',
    'openid',
    'sweep',
    'config',
    'doctor',
    'app',
    'main',
  ],
  'storage-full': [
    'audit',
    'picture-settings',
    'scan-settings',
    'config',
    'database',
    'locations',
    'scanning',
    'files',
    'limits',
    'search',
    'bulk',
    'uploads',
    'zip',
    'owners',
    'thumbnails',
    'pictures',
    'upkeep',
    'app',
    'main',
  ],
  'storage-key': [],
  payments: [
    'provider',
    'config',
    'payment',
    'webhooks',
    'refunds',
    'checkout',
    'recovery',
    'access',
    'measure',
    'backup',
    'doctor',
    'app',
    'main',
  ],
  'provider-sandbox': [
    'config',
    'state',
    'protocol',
    'resources',
    'api',
    'controls',
    'pages',
    'app',
    'main',
  ],
  console: ['shared', ...CONSOLES, 'index', 'build'],
  launcher: [
    'compile-cache',
    'services',
    'config',
    'prepare',
    'backups',
    'stack',
    'workers',
    'start',
    'install',
  ],
  cli: [
    ...['progress', 'suggestion', 'terminal', 'command'],
    ...['help', 'commands', 'plinth', 'main'],
  ],
  release: [],
}

/** Pairs of rooms that must not import each other in either direction. */
const INDEPENDENT: Record<string, [string, string][]> = {
  payments: [
    ['refunds', 'checkout'],
    ['refunds', 'webhooks'],
  ],
  accounts: [['users', 'sessions']],
  'storage-full': [
    ['thumbnails', 'upkeep'],
    ['pictures', 'upkeep'],
  ],
  console: CONSOLES.flatMap((one) => CONSOLES.map((other): [string, string] => [one, other])),
}

/**
 * The files of a room that other rooms may import. If a room is not listed, all its files are public.
 * Only the wiring imports routes, which is a separate rule.
 */
const PUBLIC_FILES: Record<string, Record<string, RegExp>> = {
  payments: {
    provider: /^(chosen|provider|values|failures|problems|operation-time|reserved-calls)\.ts$/,
    webhooks: /^(receive|events|poll|parked-events)\.ts$/,
    refunds: /^refunds\.ts$/,
    checkout: /^(checkout|customers)\.ts$/,
    recovery: /^(jobs|reconcile|recover)\.ts$/,
  },
  'storage-full': {
    locations: /^(locations|status|problems|providers\/(provider|partial))\.ts$/,
    files:
      /^(storage|files|bytes|content|sums|events|names|(files|words)\.repository|problems|folders\/(paths|placing|folders|folders\.repository)|changes\/changes|usage\/(usage|measure|(usage|counted-files)\.repository)|deletions\/(deletions|trash)|links\/links|versions\/(versions|replace|versions\.repository))\.ts$/,
    scanning: /^(scanning|problems)\.ts$/,
    uploads: /^(uploads|expire|uploads\.repository)\.ts$/,
    zip: /^zip\.repository\.ts$/,
    upkeep: /^(jobs|moves|sweep|verify)\.ts$/,
  },
}
/** The wiring may import any file, because it chooses the implementations. */
const WIRING = /^(app|host|main)\.ts$/

export const roomRules: Rule[] = [
  {
    name: 'a room imports only rooms below it',
    broken: (files) =>
      edges(files).flatMap(({ from, to, owner }) => {
        const layers = LAYERS[owner]
        if (!layers?.length || !from.room || !to.room) return []
        const [low, high] = [layers.indexOf(to.room), layers.indexOf(from.room)]
        if (high < 0) return [`${from.path}: ${from.room} is not listed in LAYERS`]
        return low > high ? [`${from.path}: ${to.path}`] : []
      }),
  },
  {
    name: 'independent rooms do not import each other',
    broken: (files) =>
      edges(files)
        .filter(({ from, to, owner }) =>
          INDEPENDENT[owner]?.some(
            (pair) => pair.includes(from.room) && pair.includes(to.room) && from.room !== to.room,
          ),
        )
        .map(({ from, to }) => `${from.path}: ${to.path}`),
  },
  {
    name: 'a room is imported only through its public files',
    broken: (files) =>
      edges(files)
        .filter(({ from, to, owner }) => {
          const publicFiles = PUBLIC_FILES[owner]?.[to.room]
          if (!publicFiles || from.room === to.room || WIRING.test(from.rest)) return false
          return !publicFiles.test(to.inside)
        })
        .map(({ from, to }) => `${from.path}: ${to.path}`),
  },
  {
    name: 'no import cycles, type imports included',
    broken: (files) => cycles(files).map((cycle) => cycle.join(' → ')),
  },
]

type Place = { path: string; room: string; rest: string; inside: string }

/** Imports between two source files of the same package. */
function edges(files: Code[]): { from: Place; to: Place; owner: string }[] {
  return files
    .filter(({ isTest }) => !isTest)
    .flatMap((file) =>
      localImports(file)
        .filter((target) => placeOf(target).owner === file.owner)
        .map((target) => ({ from: roomOf(file.path), to: roomOf(target), owner: file.owner })),
    )
}

function roomOf(path: string): Place {
  const { inside: rest } = placeOf(path)
  const [room = '', ...inside] = rest.split('/')
  return { path, room: room.replace(/\.(tsx?|js)$/, ''), rest, inside: inside.join('/') }
}

function localImports(file: Code): string[] {
  return file.imports.filter((name) => name.startsWith('.')).map((name) => resolve(file.path, name))
}

/** A shortest cycle through each file that can reach itself, each cycle once. */
export function cycles(files: Code[]): string[][] {
  const graph = new Map(files.map((file) => [file.path, localImports(file)]))
  const inCycle = new Set<string>()
  const found: string[][] = []
  for (const path of graph.keys()) {
    const cycle = inCycle.has(path) ? undefined : shortestCycle(graph, path)
    if (!cycle) continue
    found.push(cycle)
    for (const member of cycle) inCycle.add(member)
  }
  return found
}

/** The shortest path from a file through its imports back to itself (breadth-first search). */
function shortestCycle(graph: Map<string, string[]>, start: string): string[] | undefined {
  const seen = new Set<string>()
  const paths = [[start]]
  for (const path of paths)
    for (const next of graph.get(path.at(-1) as string) ?? []) {
      if (next === start) return path
      if (seen.has(next)) continue
      seen.add(next)
      paths.push([...path, next])
    }
  return undefined
}
