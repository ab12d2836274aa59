import type { Server } from '../../framework.ts'

export const FORM = 'application/x-www-form-urlencoded'

/** In this scope bodies are forms and nothing else; a handler gets `URLSearchParams`, or nothing of an empty body. */
export function acceptForms(scope: Server): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(FORM, { parseAs: 'string' }, (_request, body, done) => {
    done(null, new URLSearchParams(body as string))
  })
}
