import type { Reply } from '@plinth/kit'
import { type Html, html } from './html.ts'

export type Page = { title: string; main: Html; wide?: boolean }

/** Every page says what it is: nobody may take it for the real provider. */
function renderPage({ title, main, wide = false }: Page): string {
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
<main id="main" class="${wide ? 'wide' : 'narrow'}">
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
