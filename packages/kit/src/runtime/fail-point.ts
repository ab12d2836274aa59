let armed: { name: string; effect: string } | undefined

/** Arms one fail point for a crash test: `FAIL_POINT=upload:after-fsync=kill`, only with NODE_ENV=test. */
export function armFailPoint(env: Record<string, string | undefined>): void {
  const [name, effect = 'kill'] = (env.FAIL_POINT ?? '').split('=')
  armed = env.NODE_ENV === 'test' && name ? { name, effect } : undefined
}

/**
 * A named place where a test may end the process (`kill`) or make the step fail (`error`, or an
 * errno such as `ENOSPC`). Does nothing otherwise.
 */
export function failPoint(name: string): void {
  if (armed?.name !== name) return
  if (armed.effect === 'kill') process.kill(process.pid, 'SIGKILL')
  if (armed.effect === 'kill') while (true);
  throw Object.assign(new Error(`Fail point ${name}`), {
    code: armed.effect === 'error' ? undefined : armed.effect,
  })
}
