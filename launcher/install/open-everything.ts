import { createLogger } from '@plinth/kit/logging'
import { systemClock } from '@plinth/kit/runtime'
import { prepareStack } from '../prepare/prepare.ts'
import { keepActivity } from '../stack/home/activity.ts'
import { createLanding } from '../stack/landing.ts'
import { startManagement, watch } from '../stack/management.ts'

/** Loads whatever `npm start` loads: creates every service on this folder and closes it again. Only operators could connect. */
export async function openEverything(folder: string): Promise<void> {
  const settings = { SUITE_DATA: folder, SUITE_MANAGEMENT_PORT: '0', LOG_LEVEL: 'silent' }
  const { config, management, prepared } = await prepareStack(settings)
  const services = await Promise.all(prepared.map(({ service }) => service.create()))
  const log = createLogger('landing', 'silent')
  const activity = keepActivity(async () => [], systemClock, log)
  const landing = createLanding(config, [], { log, activity, details: undefined })
  const servers = [...services, landing]
  await Promise.all(servers.map((server) => server.ready()))
  await Promise.all(servers.map((server) => server.close()))
  activity.stop()
  const operators = await startManagement(management, () => watch([]))
  await operators?.close()
}
