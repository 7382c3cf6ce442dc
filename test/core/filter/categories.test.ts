import { expect, test } from 'vitest'
import { knownFcaCodes, knownNativeCodes } from '../../../src/core/filter/categories.ts'
import { parseFilter } from '../../../src/core/filter/filter-parse.ts'
import { presetNames, presets } from '../../../src/core/filter/presets.ts'

test('there are 132 FCA codes and 11 native ones, each once', () => {
  expect(new Set(knownFcaCodes).size).toBe(132)
  expect(knownFcaCodes).toHaveLength(132)
  expect(new Set(knownNativeCodes).size).toBe(11)
})

test('a filter may name every known code, as many as its limit allows', () => {
  expect(parseFilter({ fcaCategories: knownFcaCodes, nativeCategories: knownNativeCodes })).toEqual({
    fcaCategories: knownFcaCodes,
    nativeCategories: knownNativeCodes,
  })
})

test('presets use known codes only', () => {
  for (const name of presetNames) {
    expect(presets[name].fcaCategories.filter((code) => !knownFcaCodes.includes(code))).toEqual([])
  }
})
