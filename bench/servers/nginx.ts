import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { freePort } from '../server-process.ts'

/** Debian's nginx with sendfile, serving one folder; installed when it is missing and that works. */
export async function startNginx(root: string) {
  const program = findNginx()
  if (!program) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'plinth-nginx-'))
  const port = await freePort()
  writeFileSync(join(folder, 'nginx.conf'), configuration(folder, root, port))
  const child = spawn(program, ['-c', join(folder, 'nginx.conf'), '-p', folder], {
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  const url = `http://localhost:${port}`
  while (child.exitCode === null && !(await answers(url))) await wait(20)
  return {
    url,
    stop: async () => {
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function findNginx(): string | undefined {
  const find = () => spawnSync('sh', ['-c', 'command -v nginx || command -v /usr/sbin/nginx'])
  if (find().status !== 0)
    spawnSync('apt-get', ['install', '-y', '--no-install-recommends', 'nginx-light'])
  const { status, stdout } = find()
  return status === 0 ? stdout.toString().trim() : undefined
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
