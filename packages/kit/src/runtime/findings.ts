/** What `plinth doctor` shows. Each service supplies the checks that only it can make. */
import { systemClock } from './clock.ts'

/** The result of one check: what was seen, what was expected, why it matters and how to fix it. */
export type Finding = { check: string; seen: string } & (
  | { status: 'ok' | 'skip' }
  | { status: 'warn' | 'fail'; expected: string; why: string; fix: string }
)

/** A service as a check finds it. */
export type Examined = {
  name: string
  /** `IDENTITY_` for the settings of identity. */
  prefix: string
  production: boolean
  isRunning: boolean
  /** Whether it has a public address, its own or that of the suite. */
  isPublic: boolean
}

export function ok(check: string, seen: string): Finding {
  return { check, status: 'ok', seen }
}

export function skip(check: string, seen: string): Finding {
  return { check, status: 'skip', seen }
}

/** Tokens and signatures contain times, so the clocks must agree. */
export function clockFindings(whose: string, theirs: number): Finding[] {
  const seconds = Math.abs(theirs - systemClock().getTime()) / 1000
  if (Number.isNaN(seconds)) return [skip('clock', `${whose} does not send the time`)]
  if (seconds <= 5) return [ok('clock', `agrees with ${whose}`)]
  return [
    {
      check: 'clock',
      status: seconds > 60 ? 'fail' : 'warn',
      seen: `the clock of ${whose} differs by ${Math.round(seconds)} s`,
      expected: 'less than 5 s',
      why: 'tokens would be refused as expired or not yet valid',
      fix: 'timedatectl set-ntp true, on both machines',
    },
  ]
}
