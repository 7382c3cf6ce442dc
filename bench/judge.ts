/**
 * How well throttle and quota are told apart: ten thousand random episodes of 429s with a known cause, by cause, by
 * header and by plan. Owns the table. The episodes are in `test/support/episodes.ts`.
 */
import { planNames } from '../src/core/plans.ts'
import { causes, type Episode, headers, playEpisode } from '../test/support/episodes.ts'
import { quantile } from './figures.ts'

const EPISODES = 10_000
/** Of the episodes, those in which the cause must be told within two requests after the first 429. */
const GOAL = 0.99

/** The table; `episodes` other than 10,000 for a quick look. Each has its number as seed. */
export async function judgeTable(episodes = EPISODES): Promise<string[]> {
  const played = Array.from({ length: episodes }, (_, index) => playEpisode(index + 1))
  const share = shareRight(played)
  const met = share >= GOAL ? 'met' : 'MISSED'
  return [
    `${episodes.toLocaleString('en-GB')} episodes; requests after the first 429: at most 2`,
    `told right: ${percent(share)}, goal at least ${percent(GOAL)}: ${met}`,
    '',
    `${''.padEnd(30)} episodes  told right  requests after  units lost: mean, most  told after, p95`,
    ...rows('cause', causes, played),
    ...rows('header', headers, played),
    ...rows('plan', planNames, played),
  ]
}

function rows<Name extends 'cause' | 'header' | 'plan'>(
  by: Name,
  names: readonly Episode[Name][],
  played: readonly Episode[],
): string[] {
  return [
    by,
    ...names.map((name) =>
      row(
        name,
        played.filter((episode) => episode[by] === name),
      ),
    ),
  ]
}

function row(name: string, played: readonly Episode[]): string {
  if (played.length === 0) return `  ${name.padEnd(28)} none`
  const mean = (of: (episode: Episode) => number): string =>
    (played.reduce((sum, episode) => sum + of(episode), 0) / played.length).toFixed(2)
  const most = Math.max(...played.map(({ lost }) => lost))
  const tookMs = quantile(
    played.map((episode) => episode.tookMs),
    0.95,
  )
  return [
    `  ${name.padEnd(28)}`,
    String(played.length).padStart(8),
    percent(shareRight(played)).padStart(11),
    mean(({ probes }) => probes).padStart(15),
    mean(({ lost }) => lost).padStart(17),
    String(most).padStart(5),
    `${(tookMs / 1000).toFixed(0)} s`.padStart(16),
  ].join(' ')
}

function shareRight(played: readonly Episode[]): number {
  return played.filter(({ isRight }) => isRight).length / played.length
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)} %`
}
