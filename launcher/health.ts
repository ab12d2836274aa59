const DEADLINE_MS = 3_000

/** Asks over HTTP, as anybody else would: a service that cannot answer is not healthy. */
export async function isHealthy(url: string): Promise<boolean> {
  try {
    const reply = await fetch(`${url}/actuator/health`, {
      signal: AbortSignal.timeout(DEADLINE_MS),
    })
    await reply.arrayBuffer()
    return reply.ok
  } catch {
    return false
  }
}
