import { execFile } from 'node:child_process'
import { accessSync, constants, existsSync, globSync, readdirSync, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

const HERE = import.meta.dirname
const CACHE = join(HERE, '../../.cache')
const TOOLS = ['/usr/bin/apt-get', '/usr/bin/dpkg', '/usr/bin/flock']
const SYSTEM_FOLDERS = ['/usr/sbin', '/usr/local/sbin']
const UNPACK_MS = 300_000

type Unpacked = {
  /** Contains the files of the package as `/` would: `usr/bin/…`. */
  root: string
  libraries: string
}

/**
 * Unpacks a Debian package and its missing dependencies into `.cache`. Nothing is installed, so it
 * works without root. Throws with the reason if it fails. Neighbours are dependencies whose files the program looks for
 * beside itself: they are unpacked even if this machine has them.
 */
export async function unpackDebian(
  name: string,
  { release = '', neighbours = [] }: { release?: string; neighbours?: string[] } = {},
): Promise<Unpacked> {
  const missing = TOOLS.filter((tool) => !existsSync(tool))
  if (missing.length > 0) throw new Error(`${name} needs ${missing.join(', ')} (Debian)`)
  const folder = join(CACHE, name)
  const script = join(HERE, 'unpack-debian.sh')
  await promisify(execFile)(script, [folder, name, release, ...neighbours], { timeout: UNPACK_MS })
  const root = join(folder, 'root')
  // Some libraries have a folder of their own.
  const patterns = ['usr/lib/*-linux-gnu*', 'lib/*-linux-gnu*'].flatMap((lib) => [
    join(root, lib),
    join(root, lib, '*/'),
  ])
  return { root, libraries: globSync(patterns).filter(hasLibraries).join(':') }
}

function hasLibraries(folder: string): boolean {
  return (
    statSync(folder).isDirectory() && readdirSync(folder).some((name) => /\.so(\.|$)/.test(name))
  )
}

const programs = new Map<string, Promise<{ path: string; env: NodeJS.ProcessEnv }>>()

/** A program: the one installed on this machine, otherwise from its Debian package. */
export function debianProgram(name: string, packageName = name) {
  return programs.getOrInsertComputed(name, async () => {
    const own = onThisMachine(name)
    if (own) return { path: own, env: process.env }
    const { root, libraries } = await unpackDebian(packageName)
    const path = ['usr/bin', 'usr/sbin'].map((folder) => join(root, folder, name)).find(isProgram)
    if (!path) throw new Error(`The Debian package ${packageName} has no program ${name}.`)
    return { path, env: { ...process.env, LD_LIBRARY_PATH: libraries } }
  })
}

function onThisMachine(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...SYSTEM_FOLDERS]
  return folders.map((folder) => join(folder, name)).find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
