import type { Reply } from '@plinth/kit'

export type Page = { title: string; main: Html }

/** Every page says what it is: nobody may take it for the real provider. */
function renderPage({ title, main }: Page): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – SANDBOX</title>
<link rel="stylesheet" href="/sandbox/style.css">
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="banner"><strong>SANDBOX</strong> – no money moves. Use test cards only.</header>
<main id="main">
${main}
</main>
</body>
</html>
`.markup
}

/** Pages run no script. Forms go here, and may lead on to `formTargets` when they are done. */
export function sendPage(
  reply: Reply,
  page: Page,
  status = 200,
  formTargets: string[] = [],
): Reply {
  const policy = [
    "default-src 'none'",
    "style-src 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    `form-action ${["'self'", ...new Set(formTargets)].join(' ')}`,
  ]
  return reply
    .code(status)
    .headers({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy.join('; '),
      // The origin of our own forms must be told, or they could not be told from others.
      'referrer-policy': 'same-origin',
    })
    .send(renderPage(page))
}

/** Markup that is safe to send: every value in it was escaped on its way in. */
export type Html = { readonly markup: string }

type Value = Html | Html[] | string | number | false | undefined | null

const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** `html\`<p>${text}</p>\``: text is escaped, other markup is not, nothing is nothing. */
export function html(parts: TemplateStringsArray, ...values: Value[]): Html {
  const markup = parts.map((part, index) => part + render(values[index])).join('')
  return { markup }
}

function render(value: Value): string {
  if (value === false || value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.map(render).join('')
  if (typeof value === 'object') return value.markup
  return String(value).replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '')
}
