/** Keeps the lags of the last minute while a list of readers is shown, so that it can say whether they grow. */
import { useEffect, useRef } from 'preact/hooks'
import { type LagSample, trendWords, withSample } from './lag-words.ts'

/** The trend of each reader in words. `atMs`: when the answer came; `lags`: by the names of the readers. */
export function useTrends(
  atMs: number | null,
  lags: readonly (readonly [string, number | null])[],
): (name: string) => string {
  const kept = useRef<ReadonlyMap<string, readonly LagSample[]>>(new Map())
  const noted = useRef<number | null>(null)
  const sample = (): void => {
    if (atMs === null || atMs === noted.current) return
    noted.current = atMs
    const next = lags.flatMap(([name, lagEvents]): [string, readonly LagSample[]][] =>
      lagEvents === null ? [] : [[name, withSample(kept.current.get(name) ?? [], { atMs, lagEvents })]],
    )
    kept.current = new Map(next)
  }
  useEffect(sample, [atMs])
  return (name) => trendWords(kept.current.get(name) ?? [])
}
