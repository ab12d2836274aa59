import { existsSync, readdirSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { StartError } from '../problems.ts'
import { namingFolder } from './data-folder.ts'
import { refuseUnfinishedRestore } from './unfinished-restore.ts'

type Data = {
  dataFolder: string
  production: boolean
  databaseUrl?: string | undefined
  /** Where its files are. */
  root?: string | undefined
}

/** Says of an empty data folder that it is meant to be one; the second start removes it. */
const MARK = '.new-installation'

/** What no service has put there: a new file system has the first, and commands may write the others without the disk. */
const NO_DATA = /^(lost\+found|backups|last-backup\.json.*|listen.*\.json)$/

/**
 * To be called before anything in the data folder is opened or created. In production a missing folder, or an empty
 * one that is not a disk of its own, is more likely a disk that is not mounted than a new installation, which would
 * start empty and with a new administrator.
 */
export function enterDataFolder<C extends Data>(config: C): C {
  refuseUnmounted(config)
  refuseUnfinishedRestore(config)
  return config
}

/** Says of a data folder, if it is empty, that this is a new installation. */
export function markNewInstallation(dataFolder: string): void {
  if (isEmpty(dataFolder)) writeFileSync(join(dataFolder, MARK), '', { mode: 0o600 })
}

function refuseUnmounted(config: Data): void {
  const { dataFolder: folder, production } = config
  if (!production || !keepsDataHere(config)) return
  const fault = unmountedFault(config)
  if (fault)
    throw new StartError(
      `The data folder ${fault.seen}. If its disk is not mounted, mount it. For a new installation, say so once: ` +
        `${fault.fix} . SUITE_DATA names another folder.`,
    )
  // If it stayed, it would say the same of the folder below the mount point.
  if (namesIn(folder).some((name) => name !== MARK)) rmSync(join(folder, MARK), { force: true })
}

/** What makes a folder look as if its disk were not mounted, and what says that this is on purpose. */
export function unmountedFault(config: Data): { seen: string; fix: string } | undefined {
  const { dataFolder: folder, production } = config
  if (!production || !keepsDataHere(config)) return undefined
  const mark = `touch ${join(folder, MARK)}`
  if (!existsSync(folder))
    return { seen: `${folder} is not there`, fix: `mkdir -m 700 ${folder} && ${mark}` }
  if (isEmpty(folder) && !isDisk(folder)) return { seen: `${folder} is empty`, fix: mark }
  return undefined
}

function isEmpty(folder: string): boolean {
  return namesIn(folder).length === 0
}

function namesIn(folder: string): string[] {
  const names = namingFolder(folder, 'SUITE_DATA', () => readdirSync(folder))
  return names.filter((name) => !NO_DATA.test(name))
}

/** Such as the volume of a container, which is there from the start. */
function isDisk(folder: string): boolean {
  const real = realpathSync(folder)
  return statSync(real).dev !== statSync(dirname(real)).dev
}

/** A service that keeps everything on a database server has nothing here that could be missing. */
function keepsDataHere({ dataFolder, databaseUrl, root }: Data): boolean {
  const places = [databaseUrl?.replace(/^sqlite:/, ''), root].filter((place) => place !== undefined)
  const isBelow = (place: string) => !relative(dataFolder, resolve(place)).startsWith('..')
  return places.length === 0 || places.some((place) => !/^\w+:\/\//.test(place) && isBelow(place))
}
