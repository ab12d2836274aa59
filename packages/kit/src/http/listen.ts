import type { AddressInfo } from 'node:net'
import { hostUrl } from '../host-url.ts'
import { StartError } from '../start-error.ts'
import { addressesOf, furtherDoors } from './addresses.ts'
import type { Server } from './server.ts'

/** `portSetting` is named when the port is taken. */
export type Address = { host: string; port: number; portSetting?: string }

/** Starts to accept connections at all `addresses` of the host and tells where. */
export async function listen(
  server: Server,
  address: Address,
  addresses?: string[],
): Promise<string> {
  const doors = furtherDoors(server)
  await server.ready()
  const [first, ...others] = addresses ?? (await addressesOf(address.host))
  // The framework logs each address by itself; whoever called this says it once and better.
  const { level } = server.log
  server.log.level = 'silent'
  try {
    await server.listen({ host: first, port: address.port })
    for (const other of others)
      await doors.open(other, portOf(server)).catch((error) => {
        if (isNeeded(error, address)) throw error
      })
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EADDRINUSE' ? portInUse(address) : error
  } finally {
    server.log.level = level
  }
  return hostUrl(address.host, portOf(server))
}

/** A name may list an address that is switched off, as IPv6 often is; port 0 was nobody's choice. */
function isNeeded({ code = '' }: NodeJS.ErrnoException, { port }: Address): boolean {
  if (code === 'EADDRINUSE') return port !== 0
  return code !== 'EADDRNOTAVAIL' && code !== 'EAFNOSUPPORT'
}

function portOf(server: Server): number {
  return (server.server.address() as AddressInfo).port
}

function portInUse({ port, portSetting = "the service's …_PORT setting" }: Address): StartError {
  return new StartError(
    `Port ${port} is in use. Stop what uses it, or choose another with ${portSetting}.`,
  )
}
