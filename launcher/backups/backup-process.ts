/**
 * One scheduled backup, in its own process: compressing and hashing all data must not delay
 * requests. Its arguments are the names of the services.
 */
import { armFailPoint } from '@plinth/kit/runtime'
import { loadBackups } from '../config.ts'
import { services } from '../services.ts'
import { isBusy, makeBackup } from './make.ts'
import { ENDED } from './schedule.ts'

// The suite has exited, cleanly or not.
process.once('disconnect', () => process.exit(ENDED.failed))
armFailPoint(process.env)
const names = process.argv.slice(2)
try {
  const { verify } = loadBackups(process.env)
  const only = services.filter(({ name }) => names.includes(name))
  const { faults } = await makeBackup(process.env, { verify, only })
  process.exit(faults.length > 0 ? ENDED.failed : ENDED.done)
} catch (error) {
  process.exit(isBusy(error) ? ENDED.busy : ENDED.failed)
}
