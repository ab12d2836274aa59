import { tmpdir } from 'node:os'
import { cheapHashing } from '@plinth/accounts/testing'
import { plinth, plinthSucceeds } from '../../../cli/test/run-plinth.ts'
import { MASTER_KEY } from './start-identity.ts'

type Overrides = Record<string, string | undefined>

/** Runs the command line against the database of a running service. */
export function commandLine(databaseUrl: string, settings: Overrides = {}) {
  const env = { ...COMMON, IDENTITY_DATABASE_URL: databaseUrl, ...settings }
  return (...words: string[]) => plinthSucceeds(words, { env })
}

/** Runs the command line in its own process, in a folder whose `.env` names the database. */
export function commandLineIn(folder: string) {
  return (...words: string[]) => plinth(words, { env: COMMON, cwd: folder })
}

const COMMON = {
  ...cheapHashing('IDENTITY_'),
  SUITE_DATA: tmpdir(),
  IDENTITY_MASTER_KEY: MASTER_KEY,
}
