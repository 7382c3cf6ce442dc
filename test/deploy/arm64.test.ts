/** A release for arm64 holds the same packages as one for x64, and nothing that runs on one kind of processor but Node. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lockedPackages } from '../../deploy/release/locked-packages.ts'
import { root } from '../support/house/repository.ts'

test('the packages of both processors are the same, and Node is locked in the same version for both', () => {
  const packages = lockedPackages(root, 'arm64')
  expect(packages.length).toBeGreaterThan(20)
  expect(packages).toEqual(lockedPackages(root, 'x64'))
  const { packages: locked } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; cpu?: string }>
  }
  const [x64, arm64] = ['x64', 'arm64'].map((cpu) => locked[`node_modules/node-linux-${cpu}`])
  expect(arm64).toMatchObject({ version: x64?.version, cpu: 'arm64' })
})

test('no package of a release has native code', () => {
  const native = lockedPackages(root, 'arm64').flatMap(({ path }) =>
    readdirSync(join(root, path), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(node|so|dylib|dll|wasm)$/.test(file) && !file.startsWith('node_modules/'))
      .map((file) => join(path, file)),
  )
  expect(native).toEqual([])
})
