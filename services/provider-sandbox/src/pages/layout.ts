export type Page = { title: string; main: Html }

/**
 * Every page says SANDBOX, so that it is not mistaken for the real provider. It shares the style of
 * the consoles.
 */
export function renderPage({ title, main }: Page, basePath: string): string {
  return html`<!doctype html>
<html lang="en" data-service="payments">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – SANDBOX</title>
<link rel="stylesheet" href="${basePath}/sandbox/page.css">
</head>
<body>
<a class="button skip" href="#main">Skip to the content</a>
<header class="banner"><strong>SANDBOX</strong> – no money moves. Use test cards only.</header>
<main class="hosted" id="main">
${main}
</main>
</body>
</html>
`.markup
}

/** Pages run no script. Forms post to this origin, and may then redirect to `formTargets`. */
export function pageHeaders(formTargets: string[] = []): Record<string, string> {
  const policy = [
    "default-src 'none'",
    "style-src 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    `form-action ${["'self'", ...new Set(formTargets)].join(' ')}`,
  ]
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy.join('; '),
    // Our own forms must send their origin, or they would look like those of another site.
    'referrer-policy': 'same-origin',
  }
}

/** Markup that is safe to send: every value in it has been escaped. */
export type Html = { readonly markup: string }

type Value = Html | Html[] | string | number | false | undefined | null

const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** `html\`<p>${text}</p>\``: escapes text, keeps markup, leaves out false, null and undefined. */
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
