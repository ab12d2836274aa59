import { once } from 'node:events'
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { type Finding, ok, skip, unmountedFault } from '@plinth/kit/runtime'
import {
  type Check,
  healthAt,
  type Installation,
  isForeign,
  secretMode,
  unknown,
} from './installation.ts'

const GIGABYTE = 2 ** 30
const MIN_FREE = 0.1
const MIN_FILES = 4096
const MIN_INODES = 10_000
/** Type numbers from statfs. SQLite in WAL mode needs locks and shared memory, which these do not support. */
const SHARED_DISKS: Record<number, string> = {
  26985: 'NFS',
  20859: 'SMB',
  4283649346: 'CIFS',
  4266872130: 'SMB2',
  16914839: '9p',
  1702057286: 'FUSE (virtiofs, sshfs)',
}

/** The writable layer of a container, which is deleted with it. */
const OVERLAY = 2035054128

/** What `--fix` does: creates folders and corrects modes, of what is ours and not behind a link. */
export function repair(dataFolder: string, secretFiles: string[]): void {
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 })
  if (isOurFolder(dataFolder)) chmodSync(dataFolder, 0o700)
  for (const file of secretFiles)
    try {
      const found = lstatSync(file)
      if (found.isFile()) chmodSync(file, found.mode & secretMode(found))
    } catch {
      // Missing, or owned by another user: the check reports it.
    }
}

const OUR_NAMES = /^(identity|storage-(full|key)|payments|sandbox)(\.db|(-master)?\.key)?$/
const STICKY = 0o1000

/** A mistyped SUITE_DATA may name a folder of others, such as /tmp or a home: only its owner could enter it then. */
function isOurFolder(folder: string): boolean {
  const found = lstatSync(folder)
  if (!found.isDirectory() || (found.mode & STICKY) !== 0) return false
  const names = readdirSync(folder)
  return names.length === 0 || names.some((name) => OUR_NAMES.test(name))
}

/** An older Node, or one without libatomic, does not get this far: the launcher reports it. */
const node: Check = async () => [ok('node', `Node ${process.versions.node}`)]

const data: Check = async ({ dataFolder, hasData, production, prepared }) => {
  const unreadable = hasData ? unreadableFault(dataFolder) : undefined
  if (unreadable !== undefined) return [refusedFinding(dataFolder, unreadable)]
  const unmounted = prepared
    .map(({ service }) => unmountedFault(service.config))
    .find((fault) => fault !== undefined)
  if (unmounted)
    return [
      {
        check: 'data-dir',
        status: 'fail',
        seen: unmounted.seen,
        expected: 'the data of this installation',
        why: 'its disk may not be mounted: the services do not start with nothing',
        fix: `mount its disk; for a new installation: ${unmounted.fix}`,
      },
    ]
  if (!hasData)
    return [skip('data-dir', `${dataFolder} does not exist yet: the first start creates it`)]
  const refused = refusalOf(dataFolder)
  if (refused !== undefined) return [refusedFinding(dataFolder, refused)]
  const findings = [
    ...modeFindings(dataFolder),
    ...ownerFindings(dataFolder),
    ...diskFindings(dataFolder, production),
  ]
  return findings.length > 0 ? findings : [ok('data-dir', `${dataFolder} is writable`)]
}

function refusedFinding(dataFolder: string, seen: string): Finding {
  return {
    ...{ check: 'data-dir', status: 'fail', seen },
    expected: 'a folder in which this user can read, write, rename and link',
    why: 'every service keeps its data there',
    fix: `chown -R "$(id -u)" ${dataFolder}, or choose another with SUITE_DATA`,
  }
}

function unreadableFault(folder: string): string | undefined {
  if (!statSync(folder).isDirectory()) return `${folder} is not a folder`
  try {
    readdirSync(folder)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

function refusalOf(folder: string): string | undefined {
  const probe = join(folder, `.doctor-${process.pid}`)
  try {
    writeFileSync(probe, '', { flush: true, mode: 0o600 })
    linkSync(probe, `${probe}-link`)
    renameSync(`${probe}-link`, `${probe}-moved`)
    return undefined
  } catch (error) {
    return (error as Error).message
  } finally {
    for (const end of ['', '-link', '-moved']) rmSync(`${probe}${end}`, { force: true })
  }
}

function modeFindings(folder: string): Finding[] {
  const mode = statSync(folder).mode & 0o777
  if ((mode & 0o077) === 0 || process.platform === 'win32') return []
  return [
    {
      check: 'data-dir',
      status: 'warn',
      seen: `${folder} has mode ${mode.toString(8)}`,
      expected: '700',
      why: 'other users of this machine can read it',
      fix: `chmod 700 ${folder}`,
    },
  ]
}

/** A file left by a command that ran as root: a service that runs as another user cannot write to it. */
function ownerFindings(folder: string): Finding[] {
  const { uid } = statSync(folder)
  const foreign = readdirSync(folder).find(
    (name) => statSync(join(folder, name), { throwIfNoEntry: false })?.uid !== uid,
  )
  if (foreign === undefined || process.platform === 'win32') return []
  return [
    {
      check: 'data-dir',
      status: 'fail',
      seen: `${join(folder, foreign)} and the folder have different owners`,
      expected: 'the same owner for everything in it',
      why: 'the service cannot write to it: "attempt to write a readonly database"',
      fix: `chown -R --reference=${folder} ${folder}`,
    },
  ]
}

function diskFindings(folder: string, production: boolean): Finding[] {
  const { type, bsize, bavail, blocks, ffree, files } = statfsSync(folder)
  const findings: Finding[] = []
  const free = bavail * bsize
  if (free < GIGABYTE && free < MIN_FREE * blocks * bsize)
    findings.push({
      check: 'data-dir',
      status: free < GIGABYTE / 10 ? 'fail' : 'warn',
      seen: `${Math.round(free / 2 ** 20)} MB are free`,
      expected: 'at least 1 GB, or a tenth of the disk',
      why: 'on a full disk, uploads and sign-ins are refused',
      fix: 'free some space, or move SUITE_DATA to a larger disk',
    })
  if (files > 0 && ffree < MIN_INODES)
    findings.push({
      check: 'data-dir',
      status: 'warn',
      seen: `${ffree} free inodes on the disk`,
      expected: `at least ${MIN_INODES}`,
      why: 'every upload is a file',
      fix: 'remove small files, or move SUITE_DATA',
    })
  if (type === OVERLAY && production)
    findings.push({
      check: 'data-dir',
      status: 'fail',
      seen: `${folder} is in the container itself`,
      expected: 'a volume',
      why: 'the data is lost when the container is replaced',
      fix: '--volume plinth-data:/data, as in compose.yaml',
    })
  const shared = SHARED_DISKS[type]
  if (shared !== undefined)
    findings.push({
      check: 'data-dir',
      status: 'fail',
      seen: `${folder} is on ${shared}`,
      expected: 'a local disk, or a named volume of the container',
      why: 'SQLite loses data on shared disks, and two hosts may have the file open',
      fix: 'move SUITE_DATA to a local disk, or use PostgreSQL',
    })
  return findings
}

type Listener = { name: string; host: string; port: number; portSetting: string }

/** Each port must be free, or in use by the service itself. */
const ports: Check = async (installation) => {
  const { suite, management, prepared } = installation
  if (!suite) return [unknown('ports')]
  const listeners: Listener[] = [
    { name: 'landing', ...suite },
    ...prepared.map(({ entry, service }) => ({ name: entry.name, ...service.config })),
    ...(management ? [{ name: 'the management listener', ...management }] : []),
  ]
  const findings = (await Promise.all(listeners.map((at) => portFinding(installation, at)))).flat()
  return findings.length > 0 ? findings : [ok('ports', 'free, or in use by the services')]
}

async function portFinding(installation: Installation, listener: Listener): Promise<Finding[]> {
  const { name, host, port, portSetting } = listener
  if (await isFree(host, port)) return []
  const isPlinth = (await healthAt(host, port)) !== undefined
  // The management listener answers no challenge.
  const isManagement = portSetting === installation.management?.portSetting
  if (isPlinth && (isManagement || !(await isForeign(installation, listener)))) return []
  return [
    {
      check: 'ports',
      status: 'fail',
      seen: `port ${port} of ${name} is in use by another ${isPlinth ? 'installation' : 'program'}`,
      expected: 'a free port',
      why: `${name} cannot start`,
      fix: `${portSetting}=${port + 1000} in .env, or stop what uses ${port}`,
    },
  ]
}

async function isFree(host: string, port: number): Promise<boolean> {
  const probe = createServer().listen(port, host)
  try {
    await once(probe, 'listening')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'EADDRINUSE'
  }
  await once(probe.close(), 'close')
  return true
}

const limits: Check = async ({ production }) => {
  const table = process.platform === 'linux' ? readFileSync('/proc/self/limits', 'utf8') : ''
  const soft = /^Max open files\s+(\d+)/m.exec(table)?.[1]
  const memory = process.constrainedMemory() || totalmem()
  const findings: Finding[] = []
  // A developer's shell allows 1024, and a developer opens few connections.
  if (production && soft !== undefined && Number(soft) < MIN_FILES)
    findings.push({
      check: 'limits',
      status: 'warn',
      seen: `${soft} open files are allowed`,
      expected: `${MIN_FILES} or more`,
      why: 'every connection needs one',
      fix: `LimitNOFILE=65536 in the unit, or ulimit -n 65536`,
    })
  if (Math.min(memory, totalmem()) < GIGABYTE / 2)
    findings.push({
      check: 'limits',
      status: 'warn',
      seen: `${Math.round(memory / 2 ** 20)} MB of memory`,
      expected: '512 MB or more',
      why: 'checking a password takes 19 MB, and making a thumbnail more',
      fix: 'MemoryMax=1G in the unit, or a larger machine',
    })
  return findings.length > 0 ? findings : [ok('limits', 'enough open files and memory')]
}

export const machineChecks: Check[] = [node, data, ports, limits]
