import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { until } from '../../test/until.ts'
import { launch, lineOf } from './launch.ts'
import { testEnv } from './test-env.ts'

/** `npm start -- identity`, once all its processes listen. */
export async function startIdentity(
  t: TestContext,
  overrides: Record<string, string>,
  detached = false,
) {
  const { env, folder } = await testEnv(t, { LOG_LEVEL: 'info', ...overrides })
  const child = launch(t, { env, folder, args: ['identity'], detached })
  const line = await lineOf(child, /"msg":"listening"/, Number(overrides.WORKERS ?? 1))
  return { child, env, folder, baseUrl: JSON.parse(line).url as string }
}

/** The worker processes, once there are `count` of them and `gone` is not among them. */
export async function workersOf(
  primary: ChildProcess,
  count: number,
  gone?: number,
): Promise<number[]> {
  const file = `/proc/${primary.pid}/task/${primary.pid}/children`
  return until(
    () => (readFileSync(file, 'utf8').match(/\d+/g) ?? []).map(Number),
    (pids) => pids.length === count && !pids.includes(gone ?? 0),
    10,
  )
}
