/**
 * Measures how often the 429 classifier names the true cause over 10,000 simulated episodes, by cause, header and plan,
 * and how many units 429s cost a week on a key that other processes share.
 */
import { planNames } from '../src/core/plans.ts'
import { causes, type Episode, headers, playEpisode } from '../test/support/worlds/episodes.ts'
import { mostLost, playSharedWeeks, type SharedWeek } from '../test/support/worlds/shared-key.ts'
import { quantile } from './figures.ts'

const EPISODES = 10_000
/** Share of the episodes whose cause must be known within two requests after the first 429. */
const GOAL = 0.99

/** Weeks on a shared key, four in a row on one plan. */
const SHARED_RUNS = 30
const SHARED_WEEKS = 4

/** The table; `episodes` other than 10,000 for a quick look. Each has its number as seed. */
export async function classifierTable(episodes = EPISODES): Promise<string[]> {
  const played = Array.from({ length: episodes }, (_, index) => playEpisode(index + 1))
  const share = shareRight(played)
  const met = share >= GOAL ? 'met' : 'MISSED'
  return [
    `${episodes.toLocaleString('en-GB')} episodes; requests after the first 429: at most 2`,
    `classified right: ${percent(share)}, goal at least ${percent(GOAL)}: ${met}`,
    '',
    `${''.padEnd(30)} episodes       right  requests after  units lost: mean, most  known after, p95`,
    ...rows('cause', causes, played),
    ...rows('header', headers, played),
    ...rows('plan', planNames, played),
    '',
    ...sharedWeeks(),
  ]
}

/** Units lost to 429s in weeks in which other processes use the key too. */
function sharedWeeks(): string[] {
  const weeks = Array.from({ length: SHARED_RUNS }, (_, run) => playSharedWeeks(run + 1, SHARED_WEEKS)).flat()
  const over = weeks.filter(({ plan, lost }) => lost > mostLost(plan)).length
  return [
    `${weeks.length} weeks on a key that others use too; units lost to 429s a week`,
    `at most the larger of 2 and 0.1 % of the quota: ${over === 0 ? 'met' : 'MISSED'} (${over} weeks above)`,
    '',
    `${''.padEnd(12)} weeks  requests a week  others' a week  lost: mean, most  429s of the quota: mean, most`,
    ...planNames.flatMap((name) =>
      sharedRow(
        name,
        weeks.filter(({ plan }) => plan === name),
      ),
    ),
  ]
}

function sharedRow(name: string, weeks: readonly SharedWeek[]): string[] {
  if (weeks.length === 0) return []
  const mean = (of: (week: SharedWeek) => number): number =>
    weeks.reduce((sum, week) => sum + of(week), 0) / weeks.length
  const most = (of: (week: SharedWeek) => number): string => String(Math.max(...weeks.map(of)))
  return [
    [
      `  ${name.padEnd(10)}`,
      String(weeks.length).padStart(5),
      mean(({ requests }) => requests)
        .toFixed(0)
        .padStart(16),
      mean(({ others }) => others)
        .toFixed(0)
        .padStart(15),
      mean(({ lost }) => lost)
        .toFixed(2)
        .padStart(11),
      most(({ lost }) => lost).padStart(5),
      mean(({ quotaRefused }) => quotaRefused)
        .toFixed(1)
        .padStart(24),
      most(({ quotaRefused }) => quotaRefused).padStart(5),
    ].join(' '),
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
