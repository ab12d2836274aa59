import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'

type Locked = {
  link?: boolean
  integrity?: string
  resolved?: string
  hasInstallScript?: boolean
  gypfile?: boolean
}
type Manifest = Partial<Record<(typeof KINDS)[number], Record<string, string>>> & {
  scripts?: Record<string, string>
  allowScripts?: Record<string, boolean>
}

const ROOT = join(import.meta.dirname, '..')
const KINDS = ['dependencies', 'devDependencies', 'optionalDependencies'] as const
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const root: Manifest = JSON.parse(read('package.json'))
const manifests: Manifest[] = globSync('{.,packages/*,services/*}/package.json', { cwd: ROOT }).map(
  (file) => JSON.parse(read(file)),
)
const installed = Object.entries<Locked>(JSON.parse(read('package-lock.json')).packages).filter(
  ([path, { link }]) => path.includes('node_modules/') && !link,
)

describe('the supply chain', () => {
  test('every package in the lock file has an integrity hash and no download address', () => {
    assert.ok(installed.length > 100)
    for (const [path, { integrity, resolved }] of installed) {
      assert.match(integrity ?? '', /^sha512-/, path)
      assert.equal(resolved, undefined, path)
    }
  })

  test('no package runs an install script', () => {
    for (const [path, { hasInstallScript }] of installed)
      if (hasInstallScript)
        assert.equal(root.allowScripts?.[path.replace(/^.*node_modules\//, '')], false, path)
  })

  test('npm compiles no package', () => {
    const native = installed.filter(([path]) => existsSync(join(ROOT, path, 'binding.gyp')))

    assert.ok(native.length > 0)
    for (const [path, { gypfile }] of native) {
      assert.equal(JSON.parse(read(`${path}/package.json`)).gypfile, false, path)
      // npm before 11.19 reads it only here, and "npm install" drops it.
      assert.equal(gypfile, false, `add "gypfile": false to ${path} in package-lock.json`)
    }
  })

  test('dynamic imports of CommonJS packages use only the default export', () => {
    // In the bundled package they have no other export.
    const sources = globSync('{packages,services}/*/src/**/*.ts', { cwd: ROOT })
    const loads = sources.flatMap((file) => [
      ...read(file).matchAll(/const (.+) = await import\(\s*'([^'.][^']*)'/g),
    ])
    const late = loads.filter(([, , name = '']) => !/^(node:|@plinth\/)/.test(name))

    assert.ok(late.length >= 4)
    for (const [line, taken = '', name = ''] of late)
      if (isCommonJs(name)) assert.match(taken, /^\{ default: \w+ \}$/, line)
  })

  test('every direct dependency has an exact version', () => {
    for (const manifest of manifests)
      for (const [name, version] of KINDS.flatMap((kind) => Object.entries(manifest[kind] ?? {})))
        assert.match(version, /^\d+\.\d+\.\d+(-[\w.]+)?$/, name)
  })

  test('docs/dependencies.md lists the direct dependencies, each with a reason', () => {
    const rows = [...read('docs/dependencies.md').matchAll(/^\| `([^`]+)` \| .+? \| (.+) \|$/gm)]
    const listed = rows.map(([, name]) => name).sort()
    const direct = manifests
      .flatMap((manifest) => KINDS.flatMap((kind) => Object.keys(manifest[kind] ?? {})))
      .filter((name) => !name.startsWith('@plinth/'))

    assert.deepEqual(listed, [...new Set(direct)].sort())
    for (const [, name = '', reason = ''] of rows) assert.ok(reason.trim().length > 3, name)
  })

  test('npm run sbom writes a CycloneDX document with every installed package', async () => {
    const [command = '', ...words] = root.scripts?.sbom?.split(' ') ?? []
    const { stdout } = await promisify(execFile)(command, words, {
      cwd: ROOT,
      maxBuffer: 64 * 1024 * 1024,
      timeout: 60_000,
    })
    const document = JSON.parse(stdout)

    assert.equal(document.bomFormat, 'CycloneDX')
    const names = new Set(document.components.map((each: { name: string }) => each.name))
    for (const name of ['fastify', 'better-sqlite3', 'avvio']) assert.ok(names.has(name), name)
  })
})

function isCommonJs(name: string): boolean {
  const [folder = ''] = /^(@[^/]+\/)?[^/]+/.exec(name) ?? []
  const { type, exports = {} } = JSON.parse(read(`node_modules/${folder}/package.json`))
  return type !== 'module' && !JSON.stringify(exports).includes('"import"')
}
