import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cheapHashing } from '@plinth/accounts/testing'
import { MASTER_KEY } from './start-identity.ts'

const CLI = join(import.meta.dirname, '../../../cli/main.js')

type Overrides = Record<string, string | undefined>

/** Runs the command line against the database of a running service; `cwd` may hold a `.env`. */
export function commandLine(
  databaseUrl: string,
  settings: Overrides = {},
  cwd = import.meta.dirname,
) {
  const env = {
    ...cheapHashing('IDENTITY_'),
    SUITE_DATA: tmpdir(),
    IDENTITY_MASTER_KEY: MASTER_KEY,
    IDENTITY_DATABASE_URL: databaseUrl,
    ...settings,
  }
  const options = { env, cwd }
  return (...words: string[]) => promisify(execFile)(process.execPath, [CLI, ...words], options)
}
