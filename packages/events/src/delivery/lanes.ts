import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { inTransaction } from '@plinth/kit/database'
import type { Metrics } from '@plinth/kit/metrics'
import { coalesce, failPoint } from '@plinth/kit/runtime'
import { continueTrace, type Tracer, traceHeaders, withSpan } from '@plinth/kit/tracing'
import { type Attempt, insertAttemptOf } from '../database/attempts.repository.ts'
import {
  type Claimed,
  type ClaimedDelivery,
  claimDeliveries,
} from '../database/deliveries.repository.ts'
import {
  type Endpoint,
  updateEndpointFailure,
  updateEndpointSuccess,
} from '../database/endpoints.repository.ts'
import type { Db } from '../database/tables.ts'
import { closeEndpoint, warnOfEndpoint } from '../endpoints/endpoints.ts'
import { secretsInForce, signedHeaders } from '../endpoints/secrets.ts'
import type { Events } from '../events.ts'
import { MAX_AT_ONCE, PAUSE_AFTER_MS } from '../limits.ts'
import { type Judgement, judge } from './schedule.ts'
import { createSender, failed, type Send, type Sent, STOPPED } from './send.ts'

const STOP_WAIT_MS = 3_000

export type Lanes = {
  stopped: boolean
  /** Starts as many due deliveries to an endpoint as may be in flight. */
  fill(endpointId: string): Promise<void>
  /** Resolves when nothing is in flight. */
  empty(): Promise<void>
  stop(): Promise<void>
}

type Telemetry = { metrics: Metrics; tracer: Tracer | undefined }

/**
 * The deliveries in flight, with a lane for each endpoint. The transaction that claims the next deliveries
 * also records the finished ones, so a busy endpoint needs one commit for several deliveries.
 */
export function openLanes(events: Events, { metrics, tracer }: Telemetry): Lanes {
  const { send, close } = createSender(events.addresses, events.timeoutMs)
  const owner = randomUUID()
  const stopping = new AbortController()
  const inFlight = new Set<Promise<void>>()
  const lanes = new Map<string, { ended: Ended[]; turn: () => Promise<void> }>()
  const count = countAttempts(metrics)
  let stopped = false

  const laneOf = (endpointId: string) =>
    lanes.getOrInsertComputed(endpointId, () => {
      const ended: Ended[] = []
      return { ended, turn: coalesce(() => turn(endpointId, ended)) }
    })
  const turn = async (endpointId: string, waiting: Ended[]) => {
    // Wait a turn of the event loop, to record replies that arrive together in one transaction.
    await setImmediate()
    const ended = waiting.splice(0)
    if (stopped && ended.length === 0) return
    const claim = { endpointId, owner, now: events.clock(), most: stopped ? 0 : MAX_AT_ONCE }
    const claimed = await inTransaction(events.db, async (db) => {
      await recordEnded(db, ended, claim.now)
      return claimDeliveries(db, claim)
    })
    if (ended.length > 0) failPoint('events:recorded')
    for (const one of ended) count(resultOf(one), one.attempt.durationMs / 1000)
    for (const one of ended) await watchEndpoint(events, one, claim.now)
    if (!claimed) return
    failPoint('events:claimed')
    const context = { ...claimed, secrets: secretsOf(events, claimed, claim.now), send, tracer }
    for (const delivery of claimed.deliveries) begin(delivery, context)
  }
  const begin = (delivery: ClaimedDelivery, context: AttemptContext) => {
    const lane = laneOf(context.endpoint.id)
    const work = attempt(events, delivery, context, stopping.signal)
      .then((ended) => {
        lane.ended.push(ended)
        return lane.turn()
      })
      .catch((error) => {
        // The delivery is retried once its lease expires.
        events.log.error({ err: error, eventId: delivery.eventId }, 'a delivery failed')
      })
      .then(() => void inFlight.delete(work))
    inFlight.add(work)
  }
  const empty = async () => {
    while (inFlight.size > 0) await Promise.all(inFlight)
  }
  return {
    get stopped() {
      return stopped
    },
    fill: (endpointId) => laneOf(endpointId).turn(),
    empty,
    stop: async () => {
      stopped = true
      const late = setTimeout(() => stopping.abort(), STOP_WAIT_MS)
      const turns = [...lanes.values()].map((lane) =>
        lane.turn().catch((err) => {
          events.log.error({ err }, 'the last attempts could not be recorded')
        }),
      )
      await Promise.all(turns)
      await empty()
      clearTimeout(late)
      close()
    },
  }
}

/** A finished attempt and the judgement on it. */
type Ended = Claimed & { attempt: Attempt; judgement: Judgement }

type AttemptContext = {
  endpoint: Endpoint
  secrets: Secrets
  send: Send
  tracer: Tracer | undefined
}

/** Makes one attempt, with no transaction open while the request is in flight. */
async function attempt(
  events: Events,
  delivery: ClaimedDelivery,
  { endpoint, secrets, send, tracer }: AttemptContext,
  signal: AbortSignal,
): Promise<Ended> {
  const { eventId: id, body } = delivery
  const at = events.clock()
  const began = performance.now()
  const headers = secrets && signedHeaders(secrets, { id, body, at })
  const sent = headers
    ? await continueTrace(delivery.traceparent, tracer, () =>
        sendAsSpan(send, endpoint.url, { headers, body, signal }),
      )
    : failed(OTHER_MASTER_KEY)
  failPoint('events:sent')
  const durationMs = Math.round(performance.now() - began)
  const { status, error, reply }: Sent = sent
  const judgement = judge(sent, delivery.attempts - delivery.attemptsBefore, events.clock())
  return { endpoint, delivery, attempt: { at, durationMs, status, error, reply }, judgement }
}

function sendAsSpan(
  send: Send,
  url: string,
  { headers, ...request }: Parameters<Send>[1],
): Promise<Sent> {
  const attributes = { 'server.address': new URL(url).hostname }
  const sendOn = () => send(url, { ...request, headers: { ...headers, ...traceHeaders() } })
  return withSpan('deliver event', attributes, sendOn, 'client')
}

const OTHER_MASTER_KEY = "the endpoint's secret was sealed with another master key"

/** Undefined when they cannot be opened. */
type Secrets = string[] | undefined

function secretsOf(
  { masterKey = Buffer.alloc(0) }: Events,
  { endpoint }: { endpoint: Endpoint },
  now: Date,
): Secrets {
  try {
    return secretsInForce(masterKey, endpoint, now)
  } catch {
    return undefined
  }
}

async function recordEnded(db: Db, ended: Ended[], now: Date): Promise<void> {
  for (const { delivery, attempt, judgement } of ended)
    await insertAttemptOf(db, delivery, attempt, judgement.verdict)
  const success = ended.find(({ judgement }) => judgement.verdict === 'done')
  const failure = ended.find(isFailure)
  if (success) await updateEndpointSuccess(db, success.endpoint.id, now)
  else if (failure) await updateEndpointFailure(db, failure.endpoint, now)
}

function isFailure({ attempt, judgement }: Ended): boolean {
  return judgement.verdict !== 'done' && attempt.error !== STOPPED
}

/** Closes an endpoint that rejects events for good or has failed for days; an operator must reopen it. */
async function watchEndpoint(events: Events, ended: Ended, now: Date): Promise<void> {
  if (!isFailure(ended)) return
  const { id, url, warned } = ended.endpoint
  const { disable } = ended.judgement
  // The endpoint may have changed during the attempt, or another attempt may have succeeded.
  const isSame = (endpoint: Endpoint) => endpoint.url === url
  const hasFailed = (endpoint: Endpoint) => failingMs(endpoint, now) >= PAUSE_AFTER_MS
  if (disable) return closeEndpoint(events, id, { state: 'disabled', reason: disable }, isSame)
  if (hasFailed(ended.endpoint)) return closeEndpoint(events, id, PAUSED_FOR_FAILURES, hasFailed)
  if (failingMs(ended.endpoint, now) >= PAUSE_AFTER_MS / 2 && !warned)
    await warnOfEndpoint(events, id)
}

const PAUSED_FOR_FAILURES = {
  state: 'paused',
  reason: 'Every attempt of the last 5 days failed.',
} as const

function failingMs({ firstFailureAt }: Endpoint, now: Date): number {
  return firstFailureAt ? now.getTime() - new Date(firstFailureAt).getTime() : 0
}

function resultOf({ attempt, judgement }: Ended): string {
  if (judgement.verdict === 'done') return 'success'
  return attempt.error === null ? 'refused' : 'unreachable'
}

function countAttempts(metrics: Metrics) {
  const labels = ['result'] as const
  const known = ['success', 'refused', 'unreachable'].map((result) => ({ result }))
  const total = metrics.counter({
    name: 'plinth_event_attempts_total',
    help: 'Attempts to deliver an event, by result.',
    labels,
    known,
  })
  const duration = metrics.histogram({
    name: 'plinth_event_attempt_duration_seconds',
    help: 'How long endpoints take to answer.',
    labels,
    known,
    bounds: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
  })
  return (result: string, seconds: number) => {
    total({ result })
    duration({ result }, seconds)
  }
}
