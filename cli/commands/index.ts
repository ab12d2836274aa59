import type { Command } from '../command.ts'
import { clientCommands } from './access/clients.ts'
import { keyCommands } from './access/keys.ts'
import { login } from './access/login.ts'
import { userCommands } from './access/user.ts'
import { doctor } from './doctor/doctor.ts'
import { listen } from './events/listen.ts'
import { trigger } from './events/trigger.ts'
import { health } from './run/health.ts'
import { openapi } from './run/openapi.ts'
import { start } from './run/start.ts'
import { verify } from './run/verify.ts'
import { completionOf } from './setup/completion.ts'
import { init } from './setup/init.ts'
import { version } from './setup/version.ts'
import { backupCommands } from './upkeep/backup.ts'
import { fileCommands } from './upkeep/files.ts'
import { migrate } from './upkeep/migrate.ts'
import { move } from './upkeep/move.ts'
import { restore } from './upkeep/restore.ts'

/** In the order of the help. */
export const commands: Command[] = [
  start,
  health,
  init,
  doctor,
  ...userCommands,
  ...keyCommands,
  ...clientCommands,
  login,
  listen,
  trigger,
  ...fileCommands,
  ...backupCommands,
  restore,
  move,
  migrate,
  openapi,
  verify,
  version,
  completionOf(() => commands),
]
