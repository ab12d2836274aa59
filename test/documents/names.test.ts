import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { services } from '../../launcher/services.ts'
import { DOCUMENTS, FILES, namesIn, read, SOURCES } from './tree.ts'

const FILE_NAME = /^(?!\/)[\w@.*/<>-]+\.(ts|tsx|js|md|json|sh|py|css|yml)$/
const FOLDER_NAME = /^([\w.-]+\/)+$|^(packages|services|docs|kit|accounts)(\/[\w-]+)+$/
const SETTING = /\b[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+\b/g
/** The operator chooses the names of providers; the sources have the rest of the name. */
const OF_PROVIDER = /^IDENTITY_PROVIDER_(GOOGLE|MY_COMPANY)_/
const PROVIDER_PREFIX = '$${prefix}'

/** Documents may write `kit/http/page.ts` for `packages/kit/src/http/page.ts`. */
const short = (path: string) => path.replace(/^(packages|services)\//, '').replace('/src/', '/')
const paths = new Set(FILES.flatMap((file) => tails(file).concat(tails(short(file)))))
const sources = SOURCES.map(read).join('\n') + read('.env.example') + read('package.json')

describe('names in the documents exist:', () => {
  test('files', () => {
    assert.deepEqual(
      missing(namesIn, (name) => !FILE_NAME.test(name) || isPath(name)),
      [],
    )
  })

  test('folders', () => {
    const isThere = (name: string) => !FOLDER_NAME.test(name) || isPath(name.replace(/\/$/, ''))
    assert.deepEqual(missing(namesIn, isThere), [])
  })

  test('settings and problem codes', () => {
    const isThere = (name: string) =>
      sources.includes(name.replace(/_FILE$/, '').replace(OF_PROVIDER, PROVIDER_PREFIX))
    assert.deepEqual(missing(found(SETTING), isThere), [])
  })

  test('npm scripts', () => {
    const { scripts } = JSON.parse(read('package.json'))
    assert.deepEqual(
      missing(found(/npm run ([a-z]+)/g), (name) => name in scripts),
      [],
    )
  })

  test('services after npm start --', () => {
    const names = services.map(({ name }) => name)
    assert.deepEqual(
      missing(found(/npm start -- ([a-z-]+)/g), (name) => names.includes(name)),
      [],
    )
  })

  test('programs after node', () => {
    const programs = found(/\bnode (?:--test )?([\w./-]+\.[jt]s)\b/g)
    assert.deepEqual(
      missing(programs, (path) => FILES.includes(path)),
      [],
    )
  })

  test('link targets', () => {
    const links = found(/\]\((?!https?:)([^)\s]+)\)/g)
    assert.deepEqual(missing(links, isLinkTarget), [])
  })
})

/** `document: name` for every name that does not exist. */
function missing(
  namesOf: (document: string) => string[],
  isThere: (name: string, document: string) => boolean,
): string[] {
  return DOCUMENTS.flatMap((document) =>
    namesOf(document)
      .filter((name) => !isThere(name, document))
      .map((name) => `${document}: ${name}`),
  )
}

function found(pattern: RegExp): (document: string) => string[] {
  return (document) => [...read(document).matchAll(pattern)].map(([all, name = all]) => name)
}

function isLinkTarget(target: string, document: string): boolean {
  const [name = '', anchor] = target.split('#')
  const path = name === '' ? document : join(dirname(document), name)
  if (!FILES.some((file) => file === path || file.startsWith(`${path}/`))) return false
  return anchor === undefined || anchorsOf(path).has(anchor)
}

/** All parts of a path that a document may write for it or for its folders: `a/b.ts` → a, a/b.ts, b.ts. */
function tails(path: string): string[] {
  const words = path.split('/')
  return words.flatMap((_, from) =>
    words.slice(from).map((_, count) => words.slice(from, from + count + 1).join('/')),
  )
}

/** `<noun>.routes.ts` and `*.test.ts` match any file of that kind. */
function isPath(name: string): boolean {
  if (paths.has(name)) return true
  if (!/[*<]/.test(name)) return false
  const pattern = name.split(/\*+|<\w+>/).map((text) => RegExp.escape(text))
  const kind = new RegExp(`^${pattern.join('.+')}$`)
  return paths.values().some((path) => kind.test(path))
}

function anchorsOf(document: string): Set<string> {
  const titles = read(document).matchAll(/^#+ (.+)$/gm)
  return new Set(
    [...titles].map(([, title = '']) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}
