import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Finding } from '@plinth/kit/runtime'
import { type Command, counted, EXIT, type Given, type Outcome } from '../../command.ts'

const SIGN = { ok: '✔', warn: '!', fail: '✖', skip: '-' }

export const doctor: Command = {
  name: 'doctor',
  summary: 'finds problems with the installation; exit code 1: a fault, 2: only warnings',
  options: {
    fix: { type: 'boolean', help: 'only creates missing folders and corrects file modes' },
    support: { type: 'boolean', help: 'prints a report for support requests, without secrets' },
  },
  run: async (given): Promise<Outcome> => {
    const findings = await runChecks(given)
    const failed = findings.some(({ status }) => status === 'fail')
    const warned = findings.some(({ status }) => status === 'warn')
    return {
      text: given.flag('support') ? await supportText(given, findings) : textOf(findings),
      json: findings,
      code: failed ? EXIT.failed : warned ? EXIT.warnings : EXIT.done,
    }
  },
}

async function runChecks({ env, flag, text, progress }: Given): Promise<Finding[]> {
  const { settingsChecks, readInstallation, secretFiles } = await import('./settings.ts')
  const { machineChecks, repair } = await import('./machine.ts')
  const { databaseChecks } = await import('./stores/database.ts')
  const { keyChecks } = await import('./stores/keys.ts')
  const { backupChecks } = await import('./backup.ts')
  const { ownChecks } = await import('./own.ts')
  const { orFault } = await import('./installation.ts')
  const { addressChecks } = await import('./addresses.ts')
  const { originChecks } = await import('./origins.ts')
  const { Settings } = await import('@plinth/kit/runtime')
  const dataFolder = resolve(new Settings(env).text('SUITE_DATA', 'data'))
  const settingsFile = text('settings') ?? '.env'
  if (flag('fix')) repair(dataFolder, await secretFiles(env, settingsFile))
  const place = { settingsFile, dataFolder, hasData: existsSync(dataFolder) }
  const { installation, findings } = await readInstallation(env, place)
  const checks = [
    ...[...settingsChecks, ...machineChecks, ...databaseChecks, ...keyChecks, ...backupChecks],
    ...[...ownChecks, ...addressChecks, ...originChecks],
  ]
  for (const [index, check] of checks.entries()) {
    progress.show('checks', index, checks.length)
    findings.push(...(await orFault(check.name, () => check(installation))))
  }
  return findings
}

function textOf(findings: Finding[]): string {
  const lines = findings.flatMap((finding) => {
    const { check, status, seen } = finding
    const line = `${SIGN[status]} ${check}: ${seen}`
    if (!('why' in finding)) return line
    const { expected, why, fix } = finding
    return [line, `    expected: ${expected}`, `    why: ${why}`, `    fix: ${fix}`]
  })
  const count = (status: Finding['status'], one: string) =>
    counted(findings.filter((finding) => finding.status === status).length, one)
  return [...lines, '', `${count('fail', 'fault')}, ${count('warn', 'warning')}.`].join('\n')
}

/** Lists the names of the settings that are set, never a value. */
async function supportText({ env }: Given, findings: Finding[]): Promise<string> {
  const { version } = await import('../setup/version.ts')
  const { knownSettings } = await import('./known-settings.ts')
  const known = await knownSettings(undefined, env)
  const set = Object.keys(env).filter((name) => known.has(name.replace(/_FILE$/, '')))
  const about = await version.run({ env } as Given)
  return [about?.text, `settings: ${set.sort().join(' ') || 'none'}`, '', textOf(findings)].join(
    '\n',
  )
}
