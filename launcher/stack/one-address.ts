import { hostPathOf, mountServers, type Server } from '@plinth/kit/http'
import type { SuiteConfig } from '../config.ts'
import type { RunningService } from '../services.ts'

/** Serves every service below the landing page, and links their consoles to each other. */
export function mountServices(
  landing: Server,
  config: SuiteConfig,
  running: RunningService[],
): void {
  const mounts = running.map(({ entry, server, publicPaths }) => ({
    path: entry.path,
    server,
    only: publicPaths,
  }))
  mountServers(landing, config, mounts)
  for (const { server, trustedIssuer } of running)
    server.tellPages((request) => {
      const hostPath = hostPathOf(request)
      const signsInAt = trustedIssuer?.signsIn ? trustedIssuer.issuer : undefined
      const issuer = running.find((service) => service.publicUrl === signsInAt)
      const signIn = issuer && consoleUrlAt(hostPath, issuer)
      return { suite: { ...suiteLinks(hostPath, config, running), signIn } }
    })
}

/** A console opened at the suite's address links to consoles there; one opened at a port links to ports. */
function suiteLinks(hostPath: string | undefined, config: SuiteConfig, running: RunningService[]) {
  const consoles = running.map((service) => ({
    name: service.entry.name,
    title: service.entry.title,
    href: consoleUrlAt(hostPath, service),
  }))
  return { home: `${hostPath ?? config.publicUrl}/`, consoles }
}

/**
 * `suite` is the address of the suite, or undefined if the client did not use it. A console that is not public is at
 * its port.
 */
export function consoleUrlAt(suite: string | undefined, service: RunningService): string {
  const { entry, publicUrl, atSuite, publicPaths, url } = service
  if (publicPaths) return url + entry.consolePath
  const base = suite !== undefined && atSuite ? suite + entry.path : publicUrl
  return base + entry.consolePath
}
