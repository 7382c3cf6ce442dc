/** Provides the words of filters: categories with their names, and presets with their meanings. */
import type { Answers } from '../../shell/answers.ts'
import { useAnswer } from '../../shell/polling.ts'

/** What a filter may name. Empty until the bridge has answered: everything can be typed as well. */
export interface FilterVocabulary {
  categories: Answers['GET /v1/categories']['data']
  presets: Answers['GET /v1/categories']['presets']
}

const NONE: readonly never[] = []

/** Asked for once. */
export function useVocabulary(): FilterVocabulary {
  const { value } = useAnswer('GET /v1/categories', {}, null)
  return { categories: value?.data ?? NONE, presets: value?.presets ?? NONE }
}
