import { PROBLEM_PAGE_HEADERS, renderProblemPage } from '@plinth/kit/http'
import { RequestRefused } from './authorization-request.ts'
import { authorizationUnknown } from './problems.ts'

type PageReply<R> = {
  code(status: number): {
    headers(values: object): { type(name: string): { send(body: string): R } }
  }
}

/** Until it is certain who asked, the person is told, whatever the request accepts. */
export async function orRefusal<R extends PageReply<R>>(
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
    const { type, body } = renderProblemPage({ title: 'This did not work', text: error.message })
    return reply.code(400).headers(PROBLEM_PAGE_HEADERS).type(type).send(body)
  }
}
