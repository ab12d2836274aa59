import { debianProgram } from './debian.ts'
import { nginxConfiguration, startWebServer, type WebServerName } from './web-server.ts'

type ProxyOptions = {
  program: WebServerName
  port: number
  /** The server behind each path, such as `http://localhost:8081` behind `/identity`. */
  routes: [path: string, server: string][]
  /** Whether the proxy strips that path from requests. */
  strips: boolean
}

/** Why the program cannot run on this machine, or `false`. */
export async function proxyMissing(program: WebServerName): Promise<string | false> {
  return debianProgram(program).then(
    () => false as const,
    (error: Error) => `no ${program}: ${error.message}`,
  )
}

type Cleanup = { after(cleanup: () => Promise<void>): void }

/** A reverse proxy configured as in `docs/proxies.md`. */
export async function startProxy(t: Cleanup, options: ProxyOptions): Promise<void> {
  const { program, port } = options
  const configuration = program === 'nginx' ? nginxProxy : caddyProxy
  const stop = await startWebServer(program, `http://localhost:${port}`, (folder) =>
    configuration(options, folder),
  )
  t.after(stop)
}

// Uses X-Forwarded-… when stripping and Forwarded when not, so that both headers are tested.
function nginxProxy({ port, routes, strips }: ProxyOptions, folder: string): string {
  const forwarded = (path: string) =>
    strips
      ? `proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header X-Forwarded-Host $http_host;
      proxy_set_header X-Forwarded-Prefix ${path};
      proxy_set_header Forwarded "";`
      : `proxy_set_header X-Forwarded-For "";
      proxy_set_header X-Forwarded-Proto "";
      proxy_set_header X-Forwarded-Host "";
      proxy_set_header X-Forwarded-Prefix "";
      proxy_set_header Forwarded 'for="$remote_addr";proto=$scheme;host="$http_host"';`
  const locations = routes.map(
    ([path, server]) => `location ${path}/ {
      proxy_pass ${server}${strips ? '/' : ''};
      proxy_set_header Host $http_host;
      ${forwarded(path)}
    }`,
  )
  return nginxConfiguration(
    folder,
    `server { listen localhost:${port}; client_max_body_size 10m; ${locations.join('\n')} }`,
  )
}

function caddyProxy({ port, routes, strips }: ProxyOptions): string {
  const handlers = routes.map(
    ([path, server]) => `${strips ? 'handle_path' : 'handle'} ${path}/* {
    reverse_proxy ${new URL(server).host} {
      header_up ${strips ? `X-Forwarded-Prefix ${path}` : '-X-Forwarded-Prefix'}
      header_up -Forwarded
    }
  }`,
  )
  return `{
  admin off
  auto_https off
}
http://localhost:${port} {
  bind 127.0.0.1
  ${handlers.join('\n  ')}
}
`
}
