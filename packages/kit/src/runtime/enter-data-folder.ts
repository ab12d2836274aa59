import { existsSync } from 'node:fs'
import { StartError } from '../problems.ts'
import { refuseUnfinishedRestore } from './unfinished-restore.ts'

type Data = { dataFolder: string; production: boolean }

/**
 * To be called before anything in the data folder is opened or created. In production a missing folder is more likely
 * a disk that is not mounted than a new installation, which would start empty and with a new administrator.
 */
export function enterDataFolder<C extends Data>(config: C): C {
  const { dataFolder, production } = config
  if (production && !existsSync(dataFolder))
    throw new StartError(
      `The data folder ${dataFolder} is not there. If its disk is not mounted, mount it. For a new installation, ` +
        `create it once: mkdir -m 700 ${dataFolder}. SUITE_DATA names another.`,
    )
  refuseUnfinishedRestore(config)
  return config
}
