import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:tls'
import { challengeFile, isLoopback, systemClock } from '@plinth/kit'
import {
  type Check,
  clockFindings,
  configOf,
  type Finding,
  ok,
  type Patient,
  prefixOf,
  skip,
} from './finding.ts'

const ANSWER_MS = 10_000
const FORGED = '203.0.113.77'
const LEAST_DAYS = 14
const DAY_MS = 86_400_000

type Address = { name: string; url: string; setting: string; trustsProxies: boolean }

/** The addresses that others are told: that of the suite, and those that a service has for itself. */
function publicAddresses({ suite, prepared }: Patient): Address[] {
  if (!suite) return []
  const own = prepared
    .filter(({ atSuite }) => !atSuite)
    .map((each) => ({
      name: each.entry.name,
      url: configOf(each).publicUrl,
      setting: `${prefixOf(each)}PUBLIC_URL`,
      trustsProxies: configOf(each).trustedProxies.length > 0,
    }))
  const landing = {
    name: 'landing',
    url: suite.publicUrl,
    setting: 'SUITE_PUBLIC_URL',
    trustsProxies: suite.trustedProxies.length > 0,
  }
  return suite.hasPublicUrl ? [landing, ...own] : own
}

const publicUrl: Check = async (patient) => {
  const addresses = publicAddresses(patient)
  if (addresses.length === 0)
    return [skip('public-url', 'no public address is set: the services are for this machine')]
  const findings = await Promise.all(addresses.map((address) => addressFindings(patient, address)))
  return findings.flat()
}

async function addressFindings(patient: Patient, address: Address): Promise<Finding[]> {
  const { name, url, setting } = address
  const { protocol, hostname } = new URL(url)
  if (protocol === 'http:' && patient.production && !isLoopback(hostname))
    return [
      {
        check: 'public-url',
        status: 'fail',
        seen: `${setting} is ${url}`,
        expected: 'an address that starts with https://',
        why: 'passwords and tokens would cross the network in the clear, and browsers refuse passkeys',
        fix: `${setting}=https://${hostname} in .env, behind a proxy with a certificate`,
      },
    ]
  if (patient.running.size === 0)
    return [skip('public-url', `${name}: the services do not run; start them and ask again`)]
  return askThrough(patient, address)
}

/** Asks for a one-time challenge through the public address, with a forged client address. */
async function askThrough({ dataFolder }: Patient, address: Address): Promise<Finding[]> {
  const nonce = randomBytes(16).toString('hex')
  const file = challengeFile(dataFolder, nonce)
  writeFileSync(file, '', { mode: 0o600 })
  try {
    const reply = await fetch(`${address.url}/actuator/doctor/${nonce}`, {
      headers: { 'x-forwarded-for': FORGED },
      signal: AbortSignal.timeout(ANSWER_MS),
      redirect: 'manual',
    })
    const seen = reply.ok ? ((await reply.json().catch(() => undefined)) as Seen) : undefined
    if (seen?.service !== address.name) return [leadsElsewhere(address, reply.status)]
    return [
      ...proxyFindings(address, seen),
      ...clockFindings('the proxy', Date.parse(reply.headers.get('date') ?? '')),
      ...(await certificateFindings(address)),
    ]
  } catch (error) {
    return [unreachable(address, error as Error)]
  } finally {
    rmSync(file, { force: true })
  }
}

type Seen = { service: string; scheme: string; host: string; address: string }

function leadsElsewhere({ name, url, setting }: Address, status: number): Finding {
  return {
    check: 'public-url',
    status: 'fail',
    seen: `${url} answers with ${status}, and not as ${name}`,
    expected: `${name}, with this data folder, behind that address`,
    why: 'users would reach something else',
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
    why: 'no user reaches the services, or browsers warn of the certificate',
    fix: `start the proxy, check DNS and certificate, or correct ${setting}`,
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
        why: 'links, cookies and redirects are made from it',
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
        seen: `the service believes a forged X-Forwarded-For (${FORGED})`,
        expected: 'the address of the client',
        why: 'anyone could pretend to be anyone, and escape every limit for an address',
        fix: 'proxy_set_header X-Forwarded-For $remote_addr in the outermost proxy',
      },
    ]
  return [ok('public-url', `${url} leads here`), ok('proxy', `the client is ${seen.address}`)]
}

async function certificateFindings({ url }: Address): Promise<Finding[]> {
  const { protocol, hostname, port } = new URL(url)
  if (protocol !== 'https:') return []
  const socket = connect({ host: hostname, port: Number(port || 443), servername: hostname })
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(ANSWER_MS) })
    const { valid_from, valid_to } = socket.getPeerCertificate()
    const days = (Date.parse(valid_to) - systemClock().getTime()) / DAY_MS
    // Some live for a few days, or hours: what renews them does so in the last third.
    const least = Math.min(LEAST_DAYS, (Date.parse(valid_to) - Date.parse(valid_from)) / DAY_MS / 6)
    if (days >= least) return [ok('certificate', `${days.toFixed(1)} days left`)]
    return [
      {
        check: 'certificate',
        status: 'warn',
        seen: `${days.toFixed(1)} days left`,
        expected: `at least ${least.toFixed(1)}`,
        why: 'it is not being renewed',
        fix: 'look into the log of what renews it (Caddy, certbot)',
      },
    ]
  } finally {
    socket.destroy()
  }
}

/** What is for operators must not be public. */
const exposure: Check = async (patient) => {
  const addresses = patient.running.size === 0 ? [] : publicAddresses(patient)
  if (addresses.length === 0) return [skip('exposure', 'nothing is public, or nothing runs')]
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
          fix: 'the proxy must not hand the management port on',
        },
      ]
    }),
  )
  return open.flat().length > 0
    ? open.flat()
    : [ok('exposure', 'the management listener is not public')]
}

export const addressChecks: Check[] = [publicUrl, exposure]
