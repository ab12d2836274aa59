import { freePorts } from '../../test/servers/free-ports.ts'
import { nginxConfiguration, startWebServer } from '../../test/servers/web-server.ts'

/** Debian's nginx with sendfile, serving one folder. */
export async function startNginx(root: string) {
  const [port = 0] = await freePorts(1)
  const url = `http://localhost:${port}`
  const stop = await startWebServer('nginx', url, (folder) =>
    nginxConfiguration(
      folder,
      `sendfile on; tcp_nopush on; server { listen localhost:${port}; root ${root}; }`,
    ),
  )
  return { url, stop }
}
