import type { ConsoleName } from './index.ts'

type Words = { title: string; about: string; colour: string }

const CONSOLES: Record<ConsoleName, Words> = {
  identity: {
    title: 'Identity console · Plinth',
    about: 'Sign in, register, refresh, passkeys and users, shown request by request.',
    colour: '4f55c9',
  },
  'storage-full': {
    title: 'Storage workbench · Plinth',
    about: 'Upload, preview, share and administer files, shown request by request.',
    colour: '0b7a6f',
  },
  'storage-key': {
    title: 'Key storage tester · Plinth',
    about: 'Upload, list, download and delete files with one API key.',
    colour: 'a3590c',
  },
  payments: {
    title: 'Payments console · Plinth',
    about: 'Checkout, refunds and webhooks against the sandbox provider.',
    colour: '8a3fb0',
  },
  sandbox: {
    title: 'Sandbox provider · Plinth',
    about: 'Pay, refund, move the clock and make calls fail at the sandbox provider.',
    colour: '1f5f99',
  },
  landing: {
    title: 'Plinth',
    about: 'Identity, storage and payments: the services running here.',
    colour: '57534e',
  },
}

export const CONSOLE_NAMES = Object.keys(CONSOLES) as ConsoleName[]

/** The document every console starts from: its name, its colour and nothing inline. */
export function documentOf(name: ConsoleName): string {
  const { title, about, colour } = CONSOLES[name]
  const base = name === 'landing' ? '.' : '..'
  return `<!doctype html>
<html lang="en" data-service="${name}" data-base="${base}">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <meta name="description" content="${about}" />
    <title>${title}</title>
    <link
      rel="icon"
      href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'%3E%3Cpath fill='%23${colour}' d='M7 3h10v3H7zm1.5 4h7v9h-7zM6 17h12v2H6zm-2 3h16v2H4z'/%3E%3C/svg%3E"
    />
    <link rel="stylesheet" href="page.css" />
    <script type="module" src="page.js"></script>
  </head>
  <body>
    <div id="app"></div>
    <noscript>This page needs JavaScript: it calls the service from your browser.</noscript>
  </body>
</html>
`
}
