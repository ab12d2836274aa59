import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const PERIOD_US = 10_000
const ROOT = '/sys/fs/cgroup'

/** Limits a process to a share of one core with a control group. Throws if that is not permitted. */
export function holdToShare(pid: number, share: number): () => void {
  const isOld = existsSync(join(ROOT, 'cpu/cgroup.procs'))
  const root = isOld ? join(ROOT, 'cpu') : ROOT
  const folder = join(root, `plinth-bench-${pid}`)
  const quota = Math.round(PERIOD_US * share)
  mkdirSync(folder)
  const write = (name: string, value: string | number) =>
    writeFileSync(join(folder, name), String(value))
  if (isOld) {
    write('cpu.cfs_period_us', PERIOD_US)
    write('cpu.cfs_quota_us', quota)
  } else write('cpu.max', `${quota} ${PERIOD_US}`)
  write('cgroup.procs', pid)
  return () => {
    for (const one of readFileSync(join(folder, 'cgroup.procs'), 'utf8').split('\n'))
      if (one !== '') writeFileSync(join(root, 'cgroup.procs'), one)
    rmdirSync(folder)
  }
}
