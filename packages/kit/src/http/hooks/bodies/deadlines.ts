import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { bodyTooSlow, type Problem, tooManyUnfinished } from '../../../problems.ts'
import type { Request, Server } from '../../framework.ts'
import { beforeBodies, DEFAULT_BODY_BYTES, hasBody } from './before-bodies.ts'
import { late } from './late-guards.ts'

/**
 * Cuts off a body that arrives too slowly, because it holds a connection for nothing. Uploads are exempt:
 * they are as slow as the client's connection and have a minimum speed. After the answer every body has
 * this deadline: no handler waits for the body of a GET or of a request that was refused.
 */
export function limitBodyTime(server: Server, deadlineMs = 30_000): void {
  const unfinished = unfinishedBodies()
  beforeBodies(server, (request, reply, payload, done) => {
    if (hasBody(request.headers) && !request.routeOptions.config.receivesUpload) {
      const watch = () => {
        late.add(request)
        const release = unfinished.reserve(maxBytes(request))
        if (!release) return fail(payload, tooManyUnfinished())
        const timer = setTimeout(() => fail(payload, bodyTooSlow()), deadlineMs)
        const stop = () => {
          clearTimeout(timer)
          release()
        }
        payload.once('end', stop)
        reply.raw.once('close', stop)
      }
      // A small body usually comes with its headers, and has been read by then.
      setImmediate(() => {
        if (!request.raw.complete && !reply.raw.destroyed) watch()
      })
    }
    done(null, payload)
  })
  server.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (hasBody(request.headers)) response.once('finish', () => cutRest(request, deadlineMs))
  })
}

/**
 * With an error event, not destroy(), which would close the connection before the answer. A body that is not
 * read, because the request was refused or needs none, has no listener: the event would end the process.
 */
function fail(payload: Readable, problem: Problem): void {
  if (payload.listenerCount('error') > 0) payload.emit('error', problem)
}

const UNFINISHED_BYTES = 64 * 1024 * 1024

/** Limits the total memory of bodies that have begun to arrive but are not complete. */
function unfinishedBodies() {
  let reserved = 0
  return {
    reserve(bytes: number): (() => void) | undefined {
      if (reserved + bytes > UNFINISHED_BYTES) return undefined
      reserved += bytes
      let held = bytes
      return () => {
        reserved -= held
        held = 0
      }
    },
  }
}

function maxBytes({ headers, routeOptions }: Request): number {
  const announced = Number(headers['content-length'] ?? Number.POSITIVE_INFINITY)
  return Math.min(announced, routeOptions.bodyLimit ?? DEFAULT_BODY_BYTES)
}

function cutRest(request: IncomingMessage, deadlineMs: number): void {
  if (request.complete) return
  const timer = setTimeout(() => request.destroy(), deadlineMs).unref()
  request.once('end', () => clearTimeout(timer))
}
