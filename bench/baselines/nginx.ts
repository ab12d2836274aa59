import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { debianProgram } from '../../test/servers/debian.ts'
import { freePorts } from '../../test/servers/free-ports.ts'
import { until } from '../../test/until.ts'

/** Debian's nginx with sendfile, serving one folder. */
export async function startNginx(root: string) {
  const { path, env } = await debianProgram('nginx')
  const folder = mkdtempSync(join(tmpdir(), 'plinth-nginx-'))
  const [port = 0] = await freePorts(1)
  writeFileSync(join(folder, 'nginx.conf'), configuration(folder, root, port))
  const child = spawn(path, ['-c', join(folder, 'nginx.conf'), '-p', folder], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ended = once(child, 'exit')
  const url = `http://localhost:${port}`
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
    if (child.exitCode !== null) throw new Error(`nginx ended with ${child.exitCode}.`)
  } catch (error) {
    await stop()
    throw error
  }
  return { url, stop }
}

function configuration(folder: string, root: string, port: number): string {
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join(' ')
  return `${user} daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 512; }
http { access_log off; sendfile on; tcp_nopush on; ${temporary}
  server { listen localhost:${port}; root ${root}; } }
`
}

async function answers(url: string): Promise<boolean> {
  return fetch(url, { method: 'HEAD' }).then(
    () => true,
    () => false,
  )
}
