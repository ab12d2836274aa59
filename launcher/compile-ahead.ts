import { mkdtempSync, rmSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLanding } from './landing.ts'
import { prepareStack } from './prepare.ts'

export async function compileAhead(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-compile-'))
  try {
    const { config, prepared } = await prepareStack({ SUITE_DATA: folder, LOG_LEVEL: 'silent' })
    const services = await Promise.all(prepared.map(({ service }) => service.create()))
    const servers = [...services, createLanding(config, [])]
    await Promise.all(servers.map((server) => server.ready()))
    await Promise.all(servers.map((server) => server.close()))
    flushCompileCache()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
