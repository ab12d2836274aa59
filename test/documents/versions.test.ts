import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DOCUMENTS, FILES, read } from './tree.ts'

const { version: VERSION } = JSON.parse(read('package.json'))

describe('the version', () => {
  test('is the same in every package and in the lock file', () => {
    const manifests = FILES.filter((file) =>
      /^(packages|services)\/[\w-]+\/package\.json$/.test(file),
    )
    const { version, packages } = JSON.parse(read('package-lock.json'))
    const locked = ['', ...manifests.map((file) => file.replace('/package.json', ''))]

    assert.ok(manifests.length > 0)
    for (const file of manifests) {
      const { version, dependencies = {} } = JSON.parse(read(file))
      const own = Object.keys(dependencies).filter((name) => name.startsWith('@plinth/'))
      for (const found of [version, ...own.map((name) => dependencies[name])])
        assert.equal(found, VERSION, file)
    }
    for (const found of [version, ...locked.map((folder) => packages[folder].version)])
      assert.equal(found, VERSION, 'package-lock.json')
  })

  test('is the one that documents and deployments install, and the newest of the changelog', () => {
    const named = [...DOCUMENTS, 'Dockerfile', 'compose.yaml', 'deploy/kubernetes.yaml'].flatMap(
      (file) =>
        [
          ...read(file).matchAll(/(?:plinth:|plinth(?:-client)?-|image\.version=)(\d+\.\d+\.\d+)/g),
        ].map(([, version]) => [file, version]),
    )

    assert.ok(named.length > 0)
    assert.deepEqual(
      named.filter(([, version]) => version !== VERSION),
      [],
    )
    assert.equal(/^## (\d\S+)/m.exec(read('CHANGELOG.md'))?.[1], VERSION)
  })
})
