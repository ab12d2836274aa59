import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../until.ts'
import { debianProgram } from './debian.ts'

const COMMANDS = {
  nginx: (file: string) => ['-c', file, '-p', join(file, '..')],
  caddy: (file: string) => ['run', '--adapter', 'caddyfile', '--config', file],
}

export type WebServerName = keyof typeof COMMANDS

/** Starts Debian's web server and waits until it answers at `url`. `configuration` gets a folder to write to. */
export async function startWebServer(
  name: WebServerName,
  url: string,
  configuration: (folder: string) => string,
): Promise<() => Promise<void>> {
  const { path, env } = await debianProgram(name)
  const folder = mkdtempSync(join(tmpdir(), `plinth-${name}-`))
  const file = join(folder, 'configuration')
  writeFileSync(file, configuration(folder))
  const child = spawn(path, COMMANDS[name](file), {
    env: { ...env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let complaints = ''
  child.stderr.on('data', (chunk) => {
    complaints += chunk
  })
  const ended = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await until(
      () => child.exitCode !== null || answers(url),
      (over) => over,
    )
    if (child.exitCode !== null) throw new Error(`${name} ended: ${complaints}`)
  } catch (error) {
    await stop()
    throw error
  }
  return stop
}

/** The settings that let nginx run in any folder and as any user. */
export function nginxConfiguration(folder: string, http: string): string {
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join(' ')
  return `${user} daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 512; }
http { access_log off; ${temporary}
${http}
}
`
}

async function answers(url: string): Promise<boolean> {
  return fetch(url, { method: 'HEAD' }).then(
    () => true,
    () => false,
  )
}
