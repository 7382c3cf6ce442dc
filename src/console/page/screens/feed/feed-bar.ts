/** Says how the feed stands: live, paused with so many waiting, or cut off, and since when. */
import { type ComponentChildren, h } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { StateMark, sentence } from '../../parts/state.ts'
import { inWholeSeconds, shortMoment } from '../../parts/times.ts'
import type { OpenGapAnswer } from '../../shell/answers.ts'
import type { ApiProblem } from '../../shell/api.ts'
import { useConsole, useNow } from '../../shell/services.ts'
import { useStore } from '../../shell/store.ts'
import type { FeedConnection, FeedModel, FeedView, PauseReason } from './feed-model.ts'
import type { FeedRow, Level } from './feed-rows.ts'

const count = new Intl.NumberFormat('en-GB')
const ANNOUNCED_MS = 5000

/** The line above the rows. */
export function FeedBar({ view, model }: { view: FeedView; model: FeedModel }): ComponentChildren {
  const { paused, waiting } = view
  if (paused !== null) return h(PausedBar, { view, model })
  return h(
    'div',
    { class: 'feed-bar' },
    h(ConnectionWords, { view, model }),
    h(
      'span',
      { class: 'feed-waiting' },
      waiting > 0 ? `${count.format(waiting)} wait while the pointer moves` : '',
    ),
    h(
      'button',
      { type: 'button', onClick: () => model.pause('key') },
      'Pause ',
      h('kbd', { 'aria-hidden': 'true' }, 'Space'),
    ),
  )
}

const reasons: Readonly<Record<PauseReason, string>> = {
  key: '',
  filter: ' while you edit the filter',
  scroll: ' because you scrolled',
  selection: ' because text is selected',
}

function PausedBar({
  view: { paused, waiting, connection },
  model,
}: {
  view: FeedView
  model: FeedModel
}): ComponentChildren {
  const nowMs = useNow()
  const { problem } = useStore(useConsole().status.reported)
  if (paused === null) return null
  const cut = cutWords(connection, problem)
  const news = waiting === 0 ? 'nothing new yet' : `${count.format(waiting)} new`
  return h(
    'div',
    { class: 'feed-bar feed-paused' },
    h(
      'p',
      null,
      h('span', { class: 'pause-shape', 'aria-hidden': 'true' }, '❚❚'),
      ` Paused at ${shortMoment(paused.atMs, nowMs)}${reasons[paused.reason]} · `,
      h('strong', null, news),
      cut !== null && ` · ${cut}`,
    ),
    h(
      'button',
      { type: 'button', class: 'primary', onClick: () => model.resume() },
      waiting === 0 ? 'Go on ' : `Go on with ${count.format(waiting)} new `,
      h('kbd', { 'aria-hidden': 'true' }, 'Space'),
    ),
  )
}

/** What a paused feed says of its connection; null while that is well. A bridge that refuses a status may send events. */
export function cutWords(connection: FeedConnection, problem: ApiProblem | null): string | null {
  if (connection.state === 'over') return `The feed has ended: ${sentence(connection.why)}`
  if (connection.state === 'away') return `The connection is cut: ${sentence(connection.why)}`
  return problem?.kind === 'unreachable' ? `The connection is cut: ${sentence(problem.detail)}` : null
}

function ConnectionWords({
  view: { connection, heardMs },
  model,
}: {
  view: FeedView
  model: FeedModel
}): ComponentChildren {
  const { clock, status } = useConsole()
  const { problem } = useStore(status.reported)
  useNow()
  const nowMs = clock.now()
  // A bridge that is stopped in its tracks keeps the connection open for half a minute and more.
  if (problem !== null && problem.kind === 'unreachable' && connection.state !== 'away') {
    return h(
      StateMark,
      { tone: 'bad' },
      h('strong', null, 'No answer. '),
      'Nothing is lost: the feed goes on when the bridge answers again.',
    )
  }
  switch (connection.state) {
    case 'live': {
      const heard = heardMs === null ? '' : ` · last heard ${inWholeSeconds(nowMs - heardMs)} ago`
      return h(StateMark, { tone: 'good' }, h('strong', null, 'Live'), h('span', { class: 'hint' }, heard))
    }
    case 'connecting':
      return h(StateMark, { tone: 'idle' }, 'Connecting …')
    case 'catching_up':
      return h(StateMark, { tone: 'idle' }, 'Reading what arrived before …')
    case 'hidden':
      return h(StateMark, { tone: 'idle' }, 'At rest while nobody looks')
    case 'over':
      return h(
        StateMark,
        { tone: 'bad' },
        h('strong', null, 'Ended. '),
        `${sentence(connection.why)} `,
        h('button', { type: 'button', onClick: () => model.connect() }, 'Connect again'),
      )
    case 'away': {
      const wait = connection.retryAtMs === null ? null : connection.retryAtMs - nowMs
      const again =
        wait === null || wait < 1000 ? 'Trying again now.' : `Trying again in ${inWholeSeconds(wait)}.`
      return h(
        StateMark,
        { tone: 'bad' },
        h('strong', null, 'Cut off. '),
        `${sentence(connection.why)} Nothing is lost: the feed goes on where it stopped. ${again}`,
      )
    }
  }
}

/** Reads out how many rows came, every five seconds at most, and that gaps are open. */
export function FeedAnnouncer({ view }: { view: FeedView }): ComponentChildren {
  const { clock, status } = useConsole()
  const { status: bridge } = useStore(status.reported)
  const [text, setText] = useState('')
  const announced = useRef<number | null>(null)
  const isDue = useRef(false)
  const latest = useRef(view)
  latest.current = view
  useEffect(() => {
    // The first rows are what was there already.
    announced.current ??= view.rows.length === 0 ? null : view.arrived
    if (isDue.current || announced.current === null || view.arrived === announced.current) return
    isDue.current = true
    clock.after(ANNOUNCED_MS, () => {
      isDue.current = false
      const { arrived, rows } = latest.current
      setText(newsWords(rows, arrived - (announced.current ?? arrived)))
      announced.current = arrived
    })
  }, [view.arrived])
  return [
    h('p', { key: 'news', role: 'status', class: 'off-screen' }, text),
    h('p', { key: 'gap', role: 'alert', class: 'off-screen' }, gapAlert(bridge?.gaps ?? [])),
  ]
}

/** What is read out of the newest rows, of which so many are new. */
export function newsWords(rows: readonly FeedRow[], fresh: number): string {
  const isOf = (level: Level) => (row: FeedRow) => row.kind === 'announcement' && row.level === level
  const important = (['ultra', 'high'] as const)
    .map((level) => ({ level, found: rows.slice(0, fresh).filter(isOf(level)).length }))
    .filter(({ found }) => found > 0)
  return [`${fresh} new`, ...important.map(({ level, found }) => `${found} ${level}`)].join(', ')
}

/** What is read out of the gaps that are open; empty where none is. */
export function gapAlert(gaps: readonly Pick<OpenGapAnswer, 'id'>[]): string {
  if (gaps.length === 0) return ''
  return gaps.length === 1 ? 'A gap is open.' : `${gaps.length} gaps are open.`
}
