import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { services } from '../../launcher/services.ts'
import { LAYERS } from '../architecture/rooms.ts'
import { constant, FILES, read } from './tree.ts'

const README = read('README.md')

describe('the README', () => {
  test('lists the address of every service', async () => {
    for (const { title, portSetting, consolePath } of services) {
      const port = new RegExp(`^# ${portSetting}=(\\d+)$`, 'm').exec(read('.env.example'))?.[1]
      const address = `http://localhost:${port}`
      const page = `${address}${consolePath.replace(/\/$/, '')}`
      assert.ok(README.includes(`| ${title} | ${address} | ${page} |`), title)
    }
  })

  test('states the required version of Node', () => {
    const { engines } = JSON.parse(read('package.json'))
    const oldest = constant('OLDEST_NODE')

    assert.equal(engines.node, `>=${oldest}`)
    for (const document of ['README.md', 'docs/decisions/0001-runtime-from-npm.md'])
      for (const [text, version] of read(document).matchAll(/Node (\d+) or later/g))
        assert.equal(Number(version), oldest, `${document}: ${text}`)
  })
})

describe('ARCHITECTURE', () => {
  test('lists the rooms of each package, lowest first', () => {
    const rows = [
      ...read('ARCHITECTURE.md').matchAll(/^\| ([a-z-]+) \| ([a-z-]+(?: · [a-z-]+)+) \|$/gm),
    ]
    const listed = Object.fromEntries(rows.map(([, name = '', rooms = '']) => [name, rooms]))
    const ordered = Object.entries(LAYERS).map(([name, rooms]) => [
      name,
      rooms.filter((room) => !/^(index|main)$/.test(room)).join(' · '),
    ])

    assert.deepEqual(listed, Object.fromEntries(ordered.filter(([, rooms]) => rooms !== '')))
  })
})

describe('CI', () => {
  test('runs what the README tells a newcomer to run, then what that left out, in strict mode', () => {
    const command = /## Test it\n\n```\n(.+)\n```/.exec(README)?.[1] ?? 'missing'

    const ci = read('.ci/run')
    assert.ok(ci.includes(`\ntests='${command}'\nrest='npm run test:all -- --rest'\n`))
    assert.match(ci, /^everything="\(ulimit -n 1024 && \$tests\) && \$rest"/m)
    assert.match(ci, /^ {2}exec bash -c "\$everything"$/m)
    assert.match(ci, /^as_user "\$everything"/m)
    assert.match(ci, /^export TEST_STRICT=on\b/m)
    assert.match(read('.github/workflows/ci.yml'), /- run: \.ci\/run$/m)
  })
})

describe('the decisions', () => {
  const decisions = FILES.filter((file) => file.startsWith('docs/decisions/')).sort()

  test('are numbered without gaps, in file names and titles', () => {
    for (const [index, file] of decisions.entries()) {
      assert.ok(file.startsWith(`docs/decisions/${String(index + 1).padStart(4, '0')}-`), file)
      assert.match(read(file), new RegExp(`^# ${index + 1}\\. .+\n`), file)
    }
  })

  test('have context, decision and consequences, or say why they are superseded', () => {
    for (const file of decisions)
      assert.match(
        read(file),
        /^\*\*Superseded|^\*\*Context\.\*\*[\s\S]+^\*\*Decision\.\*\*[\s\S]+^\*\*Consequences\.\*\*/m,
        file,
      )
  })
})
