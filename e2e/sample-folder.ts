import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const CLIENT = join(import.meta.dirname, '../packages/client')

export type Ran = { code: number; output: string; errors: string }

/** A folder in which copied samples run as a reader would run them. */
export async function sampleFolder(t: { after(cleanup: () => Promise<void>): void }) {
  const folder = await mkdtemp(join(tmpdir(), 'samples-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await mkdir(join(folder, 'node_modules/@plinth'), { recursive: true })
  await symlink(CLIENT, join(folder, 'node_modules/@plinth/client'))
  let count = 0
  return {
    curl: (command: string) => run('sh', ['-c', command], folder),
    client: async (code: string) => {
      count += 1
      const file = `sample-${count}.mjs`
      await writeFile(join(folder, file), code)
      return run(process.execPath, [file], folder)
    },
  }
}

const MAX_MS = 20_000

/** Questions get no answer, as from a terminal that was closed. */
function run(program: string, operands: string[], cwd: string): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(program, operands, { cwd, timeout: MAX_MS }, (error, output, errors) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, output, errors }),
    )
    child.stdin?.end('\n'.repeat(10))
  })
}
