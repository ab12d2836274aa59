import { PROBLEM_PAGE_HEADERS, queryOf, renderProblemPage } from '@plinth/kit/http'
import { words } from './parameters.ts'
import { authorizationUnknown } from './problems.ts'
import { RequestRefused, refusalTexts } from './refusals.ts'

type PageReply<R> = {
  code(status: number): {
    headers(values: object): { type(name: string): { send(body: string): R } }
  }
}

type Asking = { url: string; headers: { 'accept-language'?: string | undefined } }

/** Until it is certain who asked, the person is told, whatever the request accepts. */
export async function orRefusal<R extends PageReply<R>>(
  request: Asking,
  reply: R,
  work: () => Promise<R>,
  refused: () => void = () => {},
): Promise<R> {
  try {
    return await work()
  } catch (error) {
    const isOver = authorizationUnknown.is(error)
    if (!(error instanceof RequestRefused) && !isOver) throw error
    refused()
    const texts = refusalTexts(isOver ? new RequestRefused('over') : error)
    const { type, body } = renderProblemPage(texts, languagesOf(request))
    return reply.code(400).headers(PROBLEM_PAGE_HEADERS).type(type).send(body)
  }
}

/** As on the hosted page: the language that the application asks for, or that of the browser. */
function languagesOf(request: Asking): string {
  const asked = words(queryOf(request).get('ui_locales') ?? undefined)
  return [...asked, request.headers['accept-language'] ?? ''].join(',')
}
