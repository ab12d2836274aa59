import { styleText } from 'node:util'
import type { Stack } from './stack.ts'

/** The startup summary for a terminal. */
export function panelOf(stack: Stack, startedInMs: number): string {
  const lines: [label: string, text: string][] = [
    ['Start here', stack.config.publicUrl],
    ...stack.services.map(({ entry, publicUrl }): [string, string] => [entry.title, publicUrl]),
    ['', ''],
    ...loginLines(stack),
    ['Data', stack.config.dataFolder],
    ...convenienceLines(stack),
  ]
  const width = Math.max(...lines.map(([label]) => label.length)) + 3
  const title = `Plinth is running, started in ${(startedInMs / 1000).toFixed(1)} s`
  const body = lines.map(([label, text]) => `  ${label.padEnd(width)}${text}`.trimEnd())
  return [
    '',
    `  ${styleText('bold', title)}`,
    '',
    ...body,
    '',
    '  Ctrl-C stops everything.',
    '',
  ].join('\n')
}

/** The same for a program: one line, without passwords or keys. */
export function startedLine(stack: Stack, startedInMs: number): string {
  const urls = stack.services.map(({ entry, url }) => [entry.name, url])
  return JSON.stringify({
    msg: 'started',
    milliseconds: Math.round(startedInMs),
    landing: stack.landingUrl,
    services: Object.fromEntries(urls),
    dataFolder: stack.config.dataFolder,
    development: conveniencesOf(stack),
    announcements: [...new Set(stack.services.flatMap(({ server }) => server.announcements))],
  })
}

function loginLines(stack: Stack): [string, string][] {
  const logins = stack.services.flatMap(({ conveniences }) => conveniences.logins ?? [])
  const distinct = new Map(logins.map((login) => [login.username, login]))
  const lines = [...distinct.values()].map(
    ({ username, password, roles }, index): [string, string] => [
      index === 0 ? 'Sign in as' : '',
      `${username} / ${password}  (${roles.join(', ')})`,
    ],
  )
  const keys = stack.services.flatMap(({ conveniences }) => conveniences.apiKey ?? [])
  return [...lines, ...keys.map((key): [string, string] => ['X-API-KEY', key])]
}

function convenienceLines(stack: Stack): [string, string][] {
  const named = conveniencesOf(stack)
  if (named.length === 0) return []
  return [
    ['For development', named.join(', ')],
    ['', 'NODE_ENV=production switches these off'],
  ]
}

function conveniencesOf(stack: Stack): string[] {
  return [...new Set(stack.services.flatMap(({ conveniences }) => conveniences.named ?? []))]
}
