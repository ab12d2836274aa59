/** What `plinth doctor` checks about the way of uploads. */
import { once } from 'node:events'
import { type Examined, type Finding, http, https, ok, skip } from '@plinth/kit/runtime'
import type { StorageFullConfig } from '../config.ts'

const CHECK = 'uploads'
const ANSWER_MS = 3_000
/** More than the buffers of a proxy that passes bodies on as they come. */
const SENT_BYTES = 128 * 1024

/**
 * Announces the largest file that is accepted, without a token, and sends only its beginning. The service refuses it
 * before it reads the body: an answer shows that a proxy passes on what has arrived. One that buffers bodies waits for the rest.
 */
export async function uploadPathFindings(
  { isRunning, isPublic }: Examined,
  { publicUrl, limits }: StorageFullConfig,
): Promise<Finding[]> {
  if (!isPublic) return [skip(CHECK, 'no public address is set')]
  if (!isRunning) return [skip(CHECK, 'storage is not running')]
  const sizeBytes = Math.max(limits.maxFileBytes, 2 * SENT_BYTES)
  try {
    const answer = await answerToBeginning(`${publicUrl}/file/uploads`, sizeBytes)
    return [answer === undefined ? BUFFERED : findingAbout(answer, limits.maxFileBytes)]
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return [skip(CHECK, `the public address does not answer: ${code ?? message}`)]
  }
}

type Answer = { statusCode: number; headers: Record<string, unknown> }

/** Undefined if there is no answer within seconds. */
async function answerToBeginning(url: string, sizeBytes: number): Promise<Answer | undefined> {
  const { request } = url.startsWith('https:') ? https : http
  const headers = {
    'content-type': 'application/offset+octet-stream',
    'content-length': sizeBytes,
    'tus-resumable': '1.0.0',
  }
  const asking = request(url, { method: 'POST', headers, agent: false })
  asking.write(Buffer.alloc(SENT_BYTES))
  const signal = AbortSignal.timeout(ANSWER_MS)
  try {
    const [answer] = await once(asking, 'response', { signal })
    return answer
  } catch (error) {
    if (signal.aborted) return undefined
    throw error
  } finally {
    asking.on('error', () => {}) // The answer may have closed the connection.
    asking.destroy()
  }
}

const BUFFERED: Finding = {
  check: CHECK,
  status: 'warn',
  seen: `no answer to the beginning of an upload within ${ANSWER_MS / 1000} s`,
  expected: 'a proxy that passes bodies on while they arrive',
  why: 'what arrived before a connection broke is lost, so that an upload begins its piece again; progress is shown too early',
  fix: 'proxy_request_buffering off and proxy_http_version 1.1 in nginx, for the addresses of storage (docs/proxies.md)',
}

function findingAbout({ statusCode, headers }: Answer, maxFileBytes: number): Finding {
  const isOurs = headers['tus-resumable'] !== undefined
  if (isOurs) return ok(CHECK, `bodies of ${maxFileBytes} bytes arrive without being buffered`)
  if (statusCode === 413)
    return {
      check: CHECK,
      status: 'fail',
      seen: `a proxy refuses a body of ${maxFileBytes} bytes with 413`,
      expected: 'bodies as large as STORAGE_FULL_MAX_FILE_SIZE',
      why: 'larger files are refused by the proxy, although the service accepts them',
      fix: 'client_max_body_size 0 in nginx, for the addresses of storage (docs/proxies.md)',
    }
  return skip(CHECK, `the public address answers ${statusCode} instead of storage`)
}
