import { expect, test } from 'vitest'
import { quotes } from '../../support/house/page-rules.ts'
import { textFiles } from '../../support/house/repository.ts'
import { mutants } from './list.ts'
import { titlePattern } from './run.ts'

const texts = new Map(textFiles().map(({ path, text }) => [path, text]))

test('at least thirty mutants break promises of all five areas, each under a name of its own', () => {
  expect(mutants.length).toBeGreaterThanOrEqual(30)
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length)
  for (const area of ['ingest', 'governor', 'log', 'archive', 'webhooks']) {
    const files = mutants.filter(({ file }) => file.startsWith(`src/${area}`))
    expect(files.length, area).toBeGreaterThanOrEqual(4)
  }
})

test('what a mutant replaces occurs exactly once in its file, and is changed', () => {
  for (const { name, file, before, after } of mutants) {
    const count = (texts.get(file) ?? '').split(before).length - 1
    expect({ name, count }).toEqual({ name, count: 1 })
    expect({ name, after }).not.toEqual({ name, after: before })
  }
})

test('the test that must notice a mutant exists under that title', () => {
  const missing = mutants.filter(({ killedBy: { file, title, suite = file } }) => {
    return !texts.has(file) || !quotes(texts.get(suite) ?? '', title)
  })
  expect(missing.map(({ name }) => name)).toEqual([])
})

test('the pattern of a title matches the title as it is reported, and no other', () => {
  const placeholder = ['$', '{name}'].join('')
  const pattern = new RegExp(`${titlePattern(`costs 5 $ (of %s) on ${placeholder}, at once?`)}$`)
  expect(pattern.test('the poller costs 5 $ (of 7) on lite, at once?')).toBe(true)
  expect(pattern.test('costs 5 $ (of 7) on lite, at onc')).toBe(false)
  expect(pattern.test('costs 5 X (of 7) on lite, at once?')).toBe(false)
})
