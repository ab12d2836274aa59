/**
 * `node packages/client/pack.ts [folder]` compiles the client and writes the package to install,
 * `plinth-client-<version>.tgz`, to a folder (`packages/client/dist`). Prints its path.
 */
import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { copyFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

const HERE = import.meta.dirname
const run = promisify(execFile)

export async function packClient(folder: string): Promise<string> {
  const draft = await mkdtemp(join(tmpdir(), 'plinth-client-'))
  try {
    await compile(join(draft, 'dist'))
    await cp(join(HERE, 'README.md'), join(draft, 'README.md'))
    await copyFile(join(HERE, '../../LICENSE'), join(draft, 'LICENSE'))
    const manifest = publicManifest(JSON.parse(await readFile(join(HERE, 'package.json'), 'utf8')))
    await writeFile(join(draft, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
    await mkdir(folder, { recursive: true })
    const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', resolve(folder)]
    const { stdout } = await run('npm', args, { cwd: draft, timeout: 60_000 })
    return join(resolve(folder), stdout.trim())
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

async function compile(outDir: string): Promise<void> {
  const compiler = createRequire(import.meta.url).resolve('typescript/package.json')
  const program = join(compiler, '../bin/tsc')
  await run(process.execPath, [program, '-p', HERE, '--outDir', outDir], { timeout: 120_000 })
  // The compiler rewrites the imports in the code, but not those in the declarations.
  for (const file of globSync('**/*.d.ts', { cwd: outDir }).map((name) => join(outDir, name))) {
    const text = await readFile(file, 'utf8')
    await writeFile(file, text.replaceAll(/(from '\.[^']*)\.ts'/g, "$1.js'"))
  }
}

type Manifest = { private?: boolean; devDependencies?: object; exports: Record<string, string> }

/** Points the exports at the compiled files instead of the sources. */
function publicManifest({ private: _, devDependencies: __, exports, ...manifest }: Manifest) {
  const compiled = Object.entries(exports).map(([name, source]) => {
    const file = source.replace('./src/', './dist/').replace(/\.ts$/, '')
    return [name, { types: `${file}.d.ts`, default: `${file}.js` }]
  })
  return {
    ...manifest,
    exports: { ...Object.fromEntries(compiled), './package.json': './package.json' },
    files: ['dist'],
  }
}

if (import.meta.main) console.log(await packClient(process.argv[2] ?? join(HERE, 'dist')))
