import { once } from 'node:events'
import { connect } from 'node:tls'
import {
  clockFindings,
  DAY_MS,
  type Finding,
  isLoopback,
  ok,
  skip,
  systemClock,
} from '@plinth/kit/runtime'
import { prefixOf } from '../../../launcher/services.ts'
import { type Check, type Installation, withChallenge } from './installation.ts'

const ANSWER_MS = 10_000
const FORGED = '203.0.113.77'
const MIN_DAYS = 14

type Address = { name: string; url: string; setting: string; trustsProxies: boolean }

/** The public addresses: the suite's, and those of services that have their own. */
function publicAddresses({ suite, prepared }: Installation): Address[] {
  if (!suite) return []
  const own = prepared
    .filter(({ atSuite }) => !atSuite)
    .map((each) => ({
      name: each.entry.name,
      url: each.service.config.publicUrl,
      setting: `${prefixOf(each.entry)}PUBLIC_URL`,
      trustsProxies: each.service.config.trustedProxies.length > 0,
    }))
  const landing = {
    name: 'landing',
    url: suite.publicUrl,
    setting: 'SUITE_PUBLIC_URL',
    trustsProxies: suite.trustedProxies.length > 0,
  }
  return suite.hasPublicUrl ? [landing, ...own] : own
}

const publicUrl: Check = async (installation) => {
  const addresses = publicAddresses(installation)
  if (addresses.length === 0)
    return [skip('public-url', 'no public address is set: the services serve this machine only')]
  const findings = await Promise.all(
    addresses.map((address) => addressFindings(installation, address)),
  )
  return findings.flat()
}

async function addressFindings(installation: Installation, address: Address): Promise<Finding[]> {
  const { name, url, setting } = address
  const { protocol, hostname } = new URL(url)
  if (protocol === 'http:' && installation.production && !isLoopback(hostname))
    return [
      {
        check: 'public-url',
        status: 'fail',
        seen: `${setting} is ${url}`,
        expected: 'an address that starts with https://',
        why: 'passwords and tokens would cross the network unencrypted, and browsers refuse passkeys',
        fix: `${setting}=https://${hostname} in .env, behind a proxy with a certificate`,
      },
    ]
  if (installation.running.size === 0)
    return [skip('public-url', `${name}: the services are not running; start them and try again`)]
  return probe(installation, address)
}

/** Requests a one-time challenge through the public address, with a forged client address. */
async function probe({ dataFolder }: Installation, address: Address): Promise<Finding[]> {
  try {
    const reply = await withChallenge(dataFolder, (path) =>
      fetch(`${address.url}${path}`, {
        headers: { 'x-forwarded-for': FORGED },
        signal: AbortSignal.timeout(ANSWER_MS),
        redirect: 'manual',
      }),
    )
    const seen = reply.ok ? ((await reply.json().catch(() => undefined)) as Seen) : undefined
    if (seen?.service !== address.name) return [wrongServer(address, reply.status)]
    return [
      ...proxyFindings(address, seen),
      ...clockFindings('the proxy', Date.parse(reply.headers.get('date') ?? '')),
      ...(await certificateFindings(address)),
    ]
  } catch (error) {
    return [unreachable(address, error as Error)]
  }
}

type Seen = { service: string; scheme: string; host: string; address: string }

function wrongServer({ name, url, setting }: Address, status: number): Finding {
  return {
    check: 'public-url',
    status: 'fail',
    seen: `${url} answers with ${status}, but it is not ${name}`,
    expected: `${name}, with this data folder, behind that address`,
    why: 'users would reach a different server',
    fix: `point the proxy at the port of ${name}, or correct ${setting}`,
  }
}

function unreachable({ url, setting }: Address, error: Error): Finding {
  const cause = (error.cause ?? error) as NodeJS.ErrnoException
  return {
    check: 'public-url',
    status: 'fail',
    seen: `${url} does not answer: ${cause.code ?? cause.message}`,
    expected: 'an answer',
    why: 'users cannot reach the services, or browsers warn about the certificate',
    fix: `start the proxy, check the DNS record and the certificate, or correct ${setting}`,
  }
}

function proxyFindings({ url, setting, trustsProxies }: Address, seen: Seen): Finding[] {
  const { protocol, host } = new URL(url)
  const trusted = setting.replace('PUBLIC_URL', 'TRUSTED_PROXIES')
  if (`${seen.scheme}:` !== protocol || seen.host !== host)
    return [
      {
        check: 'proxy',
        status: 'fail',
        seen: `the service sees ${seen.scheme}://${seen.host}`,
        expected: `${protocol}//${host}`,
        why: 'links, cookies and redirects are built from it',
        fix: trustsProxies
          ? 'proxy_set_header Host $host and X-Forwarded-Proto $scheme in the proxy'
          : `${trusted}=loopback in .env, if the proxy is on this machine`,
      },
    ]
  if (seen.address === FORGED)
    return [
      {
        check: 'proxy',
        status: 'fail',
        seen: `the service trusts a forged X-Forwarded-For (${FORGED})`,
        expected: 'the address of the client',
        why: 'clients could forge their address and escape every limit per address',
        fix: 'proxy_set_header X-Forwarded-For $remote_addr in the outermost proxy',
      },
    ]
  return [
    ok('public-url', `${url} reaches this installation`),
    ok('proxy', `the client is ${seen.address}`),
  ]
}

async function certificateFindings({ url }: Address): Promise<Finding[]> {
  const { protocol, hostname, port } = new URL(url)
  if (protocol !== 'https:') return []
  const socket = connect({ host: hostname, port: Number(port || 443), servername: hostname })
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(ANSWER_MS) })
    const { valid_from, valid_to } = socket.getPeerCertificate()
    const days = (Date.parse(valid_to) - systemClock().getTime()) / DAY_MS
    // Some certificates are valid for days or hours only; they are renewed in the last third of that time.
    const least = Math.min(MIN_DAYS, (Date.parse(valid_to) - Date.parse(valid_from)) / DAY_MS / 6)
    if (days >= least) return [ok('certificate', `${days.toFixed(1)} days left`)]
    return [
      {
        check: 'certificate',
        status: 'warn',
        seen: `${days.toFixed(1)} days left`,
        expected: `at least ${least.toFixed(1)}`,
        why: 'it is not being renewed',
        fix: 'check the log of the tool that renews it (Caddy, certbot)',
      },
    ]
  } finally {
    socket.destroy()
  }
}

/** The metrics for operators must not be public. */
const exposure: Check = async (installation) => {
  const addresses = installation.running.size === 0 ? [] : publicAddresses(installation)
  if (addresses.length === 0) return [skip('exposure', 'nothing is public, or nothing is running')]
  const open = await Promise.all(
    addresses.map(async ({ url }): Promise<Finding[]> => {
      const reply = await fetch(`${url}/actuator/prometheus`, {
        signal: AbortSignal.timeout(ANSWER_MS),
      }).catch(() => undefined)
      if (!reply?.ok) return []
      return [
        {
          check: 'exposure',
          status: 'fail',
          seen: `${url}/actuator/prometheus answers`,
          expected: '404',
          why: 'metrics are for operators',
          fix: 'stop the proxy from forwarding to the management port',
        },
      ]
    }),
  )
  return open.flat().length > 0
    ? open.flat()
    : [ok('exposure', 'the management listener is not public')]
}

export const addressChecks: Check[] = [publicUrl, exposure]
