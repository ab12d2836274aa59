import { statSync } from 'node:fs'
import { StartError } from '@plinth/kit/problems'
import {
  type Env,
  type Finding,
  ok,
  SettingsError,
  skip,
  withoutSavingKeys,
} from '@plinth/kit/runtime'
import { prepareStack } from '../../../launcher/prepare/prepare.ts'
import { counted } from '../../command.ts'
import { type Check, healthAt, type Installation, isForeign, secretMode } from './installation.ts'
import { knownSettings, misspeltSettings } from './known-settings.ts'

type Place = Pick<Installation, 'settingsFile' | 'dataFolder' | 'hasData'>

/** Reads all settings as a start does, but creates no keys. */
export async function readInstallation(
  env: Env,
  place: Place,
): Promise<{ installation: Installation; findings: Finding[] }> {
  const installation: Installation = {
    ...{ env, ...place, production: env.NODE_ENV === 'production' },
    suite: undefined,
    management: undefined,
    prepared: [],
    running: new Map(),
  }
  try {
    const { result } = await withoutSavingKeys(() => prepareStack(env))
    const { config: suite, management, prepared } = result
    const running = await answering(prepared, place)
    Object.assign(installation, { suite, management, prepared, running })
    const valid = ok('settings', `valid for ${counted(prepared.length, 'service')}`)
    return { installation, findings: [valid] }
  } catch (error) {
    if (error instanceof SettingsError)
      return { installation, findings: error.faults.map(faultFinding) }
    if (!(error instanceof StartError)) throw error
    return { installation, findings: [startFinding(error.message)] }
  }
}

function startFinding(seen: string): Finding {
  return {
    check: 'settings',
    status: 'fail',
    seen,
    expected: 'settings with which every service starts',
    why: 'no service starts with these settings',
    fix: 'correct what the message says',
  }
}

function faultFinding({
  name,
  found,
  expected,
  example,
}: SettingsError['faults'][number]): Finding {
  return {
    check: 'settings',
    status: 'fail',
    seen: `${name} ${found}`,
    expected,
    why: 'no service starts while a setting is invalid',
    fix: `${name}=${example ?? '…'} in .env`,
  }
}

async function answering(
  prepared: Installation['prepared'],
  place: Place,
): Promise<Installation['running']> {
  const asked = prepared.map(async (each) => {
    const { host, port } = each.service.config
    const found = await healthAt(host, port)
    if (!found || (await isForeign({ ...place, prepared }, { host, port }))) return []
    return [[each.entry.name, found] as const]
  })
  return new Map((await Promise.all(asked)).flat())
}

/** What running services report about their database, disk or bucket. */
const health: Check = async ({ running }) => {
  if (running.size === 0) return [skip('health', 'no service is running')]
  const down = [...running].filter(([, { status }]) => status !== 'UP')
  if (down.length === 0) return [ok('health', `${counted(running.size, 'service')} up`)]
  return down.map(([name, { status, reason }]) => ({
    check: 'health',
    status: 'fail',
    seen: `${name}: ${status}${reason ? `, ${reason}` : ''}`,
    expected: 'UP',
    why: 'requests that need its database, disk or bucket are refused',
    fix: `check the log of ${name}`,
  }))
}

/** Services ignore a misspelt name and use the default. */
const names: Check = async ({ env }) =>
  (await misspeltSettings(env)).map(({ name, meant }) => ({
    check: 'settings',
    status: 'warn',
    seen: `${name} is set, but no service reads it`,
    expected: meant ?? 'a name from .env.example',
    why: 'a misspelt setting has no effect',
    fix: meant ? `rename it to ${meant}` : `remove ${name}`,
  }))

/** The settings file, and the files with values of settings. */
export async function secretFiles(env: Env, settingsFile: string): Promise<string[]> {
  const known = await knownSettings(undefined, env)
  const named = Object.entries(env).filter(
    ([name]) => name.endsWith('_FILE') && known.has(name.replace(/_FILE$/, '')),
  )
  return [...new Set([settingsFile, ...named.flatMap(([, file]) => file || [])])]
}

/** Files with secrets that other users of the machine can read. */
const secrets: Check = async ({ env, settingsFile }) => {
  const open = (await secretFiles(env, settingsFile)).filter((file) => {
    const found = statSync(file, { throwIfNoEntry: false })
    const isOpen = found?.isFile() && (found.mode & 0o777 & ~secretMode(found)) !== 0
    return isOpen && process.platform !== 'win32'
  })
  if (open.length === 0) return [ok('secrets', 'only the owner can read files with secrets')]
  return open.map((file) => ({
    check: 'secrets',
    status: 'warn',
    seen: `${file} has mode ${(statSync(file).mode & 0o777).toString(8)}`,
    expected: secretMode(statSync(file)).toString(8),
    why: 'other users of this machine can read it',
    fix: `chmod ${secretMode(statSync(file)).toString(8)} ${file}`,
  }))
}

export const settingsChecks: Check[] = [names, secrets, health]
