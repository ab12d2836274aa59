import { createHash } from 'node:crypto'
import type { ProblemPage } from '../problems.ts'
import { preferredLanguage } from './preferred-language.ts'

const STYLE = `:root { color-scheme: light dark }
body { max-width: 30rem; margin: 20vh auto 0; padding: 0 1.5rem; font: 1rem/1.55 system-ui, sans-serif }
h1 { font-size: 1.5rem; line-height: 1.2 }`

const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  // Otherwise browsers ask the service for a picture that it does not have.
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

export const PROBLEM_PAGE_HEADERS = { 'content-security-policy': POLICY }

/**
 * For people who open a link in a browser, in the best of its languages for their `Accept-Language`; its texts are our
 * own, so nothing in them needs escaping.
 */
export function renderProblemPage({ translations = {}, ...english }: ProblemPage, wanted?: string) {
  const texts: NonNullable<ProblemPage['translations']> = { en: english, ...translations }
  const language = preferredLanguage(wanted, Object.keys(texts)) ?? 'en'
  const { title, text } = texts[language] ?? english
  const body = `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${title}</h1>
<p>${text}</p>
</main>
</body>
</html>
`
  return { type: 'text/html; charset=utf-8', body }
}
