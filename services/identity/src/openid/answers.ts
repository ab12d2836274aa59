import { createHash } from 'node:crypto'
import { policySource } from '@plinth/kit/http'
import type { AnswerTo } from './authorization-request.ts'
import type { OpenId } from './openid.ts'

/** What the client is told: a code, or why it gets none. */
export type Answer = { code: string } | { error: string; error_description?: string }

type Fields = Record<string, string>

/** RFC 9207: every answer says who gives it. */
function fieldsOf({ issuer }: Pick<OpenId, 'issuer'>, { state }: AnswerTo, answer: Answer): Fields {
  return { ...answer, ...(state !== undefined && { state }), iss: issuer }
}

/** The address that the browser goes to, with the answer in its query. */
export function answerAddress(
  openid: Pick<OpenId, 'issuer'>,
  to: AnswerTo,
  answer: Answer,
): string {
  const separator = to.redirectUri.includes('?') ? '&' : '?'
  return `${to.redirectUri}${separator}${new URLSearchParams(fieldsOf(openid, to, answer))}`
}

const SCRIPT = 'document.forms[0].submit()'

/** A page that sends the answer to the client as a form (`response_mode=form_post`). */
export function answerForm(openid: Pick<OpenId, 'issuer'>, to: AnswerTo, answer: Answer) {
  const inputs = Object.entries(fieldsOf(openid, to, answer))
    .map(([name, value]) => `<input type="hidden" name="${name}" value="${escaped(value)}">`)
    .join('\n')
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Signing in</title>
<link rel="icon" href="data:,">
</head>
<body>
<form method="post" action="${escaped(to.redirectUri)}">
${inputs}
<noscript><button>Continue</button></noscript>
</form>
<script>${SCRIPT}</script>
</body>
</html>
`
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${createHash('sha256').update(SCRIPT).digest('base64')}'`,
    'img-src data:',
    "base-uri 'none'",
    `form-action ${policySource(to.redirectUri)}`,
    "frame-ancestors 'none'",
  ].join('; ')
  return { page, policy }
}

export function escaped(text: string): string {
  const entities: Fields = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character)
}
