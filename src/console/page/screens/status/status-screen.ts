/** The state of the bridge: at a glance, then upstream, gaps, quota, log and nodes. */
import { type ComponentChildren, h } from 'preact'
import { Freshness } from '../../parts/freshness.ts'
import { GlancePanel } from '../../parts/glance/glance.ts'
import { isOldNews } from '../../parts/glance/glance-words.ts'
import { JsonView, prettyJson } from '../../parts/json-view.ts'
import { StateMark, type StateTone } from '../../parts/state.ts'
import { Foreign } from '../../parts/text.ts'
import { Ago, inWholeSeconds, inWords, Moment, millisOf, shortMoment } from '../../parts/times.ts'
import type { StatusAnswer } from '../../shell/answers.ts'
import type { ScreenProps } from '../../shell/navigation.ts'
import { hrefOf } from '../../shell/router.ts'
import { useConsole, useNow, useTitle } from '../../shell/services.ts'
import { judgedAtMs, type Reported, STATUS_EVERY_MS } from '../../shell/status-watch.ts'
import { useStore } from '../../shell/store.ts'
import { AlertsPanel } from './alerts-panel.ts'
import { DoctorPanel } from './doctor-panel.ts'
import { GapsPanel } from './gaps-panel.ts'
import { NodesPanel } from './nodes-panel.ts'

/** The screen. */
export function StatusScreen(_props: ScreenProps): ComponentChildren {
  const { status } = useConsole()
  useTitle('Status')
  const reported = useStore(status.reported)
  const { status: known, atMs } = reported
  return [
    h(
      'header',
      { key: 'head', class: 'screen-head' },
      h('h1', null, 'Status'),
      h(Freshness, { atMs, everyMs: STATUS_EVERY_MS }),
    ),
    h(GlancePanel, { key: 'glance' }),
    known !== null && h('div', { key: 'panels', class: 'panels' }, h(Panels, { status: known, reported })),
  ]
}

function Panels({ status, reported }: { status: StatusAnswer; reported: Reported }): ComponentChildren {
  const nowMs = useNow()
  const isOld = isOldNews(reported, nowMs)
  const { gaps, unreconciled, completeness } = status
  return [
    h(AlertsPanel, { status, nowMs: judgedAtMs(reported, nowMs), isOld: reported.problem !== null }),
    h(UpstreamPanel, { status, isOld }),
    h(QuotaPanel, { quota: status.quota }),
    h(LogPanel, { status }),
    h(GapsPanel, { gaps, unreconciled, completeness, isOld }),
    h(NodesPanel, null),
    h(DoctorPanel, null),
    h(
      'details',
      { class: 'panel panel-wide' },
      h('summary', null, 'The status as JSON'),
      h(JsonView, { text: prettyJson(status), label: 'The status as JSON' }),
    ),
  ]
}

const stateWords: Readonly<Record<string, readonly [StateTone, string]>> = {
  ok: ['good', 'answers'],
  throttled: ['notice', 'says too many requests at a time'],
  quota: ['bad', 'says the quota is spent'],
  unauthorised: ['bad', 'refuses the key'],
  failing: ['bad', 'does not answer well'],
  waiting: ['idle', 'has not been asked yet'],
}

const phaseWords: Readonly<Record<StatusAnswer['upstream']['phase'], string>> = {
  closed: 'closed: nothing is published before the next business day',
  pre: 'before 07:00: little is published',
  burst: 'the burst of 07:00: hundreds arrive within seconds',
  open: 'the business day',
  late: 'after the close: little is published',
}

function UpstreamPanel({
  status: { upstream, leader, asOf },
  isOld,
}: {
  status: StatusAnswer
  isOld: boolean
}): ComponentChildren {
  const nowMs = useNow()
  const [tone, words] = stateWords[upstream.state ?? ''] ?? (['idle', 'is not known'] as const)
  const lastMs = millisOf(upstream.lastGoodPoll)
  return h(
    'section',
    { class: 'panel', 'aria-label': 'Upstream' },
    h('h2', null, 'Upstream'),
    h(
      'dl',
      { class: 'facts' },
      h('dt', null, 'State'),
      h(
        'dd',
        null,
        isOld && tone === 'good'
          ? h(StateMark, { tone: 'notice' }, `${words}, by what was known last`)
          : h(StateMark, { tone }, words),
      ),
      h('dt', null, 'Next poll'),
      h('dd', null, h(Countdown, { nextMs: millisOf(upstream.nextPoll) })),
      h('dt', null, 'Last good answer'),
      h(
        'dd',
        null,
        lastMs === null
          ? 'none yet'
          : [h(Moment, { iso: upstream.lastGoodPoll }), ' · ', h(Ago, { ms: lastMs })],
      ),
      h('dt', null, 'London day'),
      h('dd', null, phaseWords[upstream.phase]),
      h('dt', null, 'Polled by'),
      h(
        'dd',
        null,
        leader.id === null ? 'nobody' : h(Foreign, { text: leader.id, class: 'code' }),
        leader.self ? ', this node' : '',
        leader.since === null ? '' : [', since ', h(Moment, { iso: leader.since })],
      ),
      h('dt', null, 'Reported'),
      h(
        'dd',
        null,
        millisOf(asOf) === null ? 'never' : `${inWholeSeconds(nowMs - (millisOf(asOf) ?? nowMs))} ago`,
      ),
    ),
  )
}

/** A pause that is planned is said to be, so that nobody takes it for a fault. */
const LONG_PAUSE_MS = 90_000

function Countdown({ nextMs }: { nextMs: number | null }): ComponentChildren {
  const nowMs = useNow()
  if (nextMs === null) return 'not planned'
  const waitMs = nextMs - nowMs
  if (waitMs <= 0) return waitMs < -5000 ? `due ${inWholeSeconds(-waitMs)} ago` : 'now'
  const wait = h('strong', { class: 'countdown' }, `in ${inWholeSeconds(waitMs)}`)
  return waitMs > LONG_PAUSE_MS ? [wait, `; silence until ${shortMoment(nextMs, nowMs)} is planned`] : wait
}

const count = new Intl.NumberFormat('en-GB')

function QuotaPanel({ quota }: { quota: StatusAnswer['quota'] }): ComponentChildren {
  const { limit, used, remaining, reset, forecast } = quota
  return h(
    'section',
    { class: 'panel', 'aria-label': 'Quota' },
    h('h2', null, h('a', { href: hrefOf('quota') }, 'Quota of the week')),
    limit === null || used === null
      ? h(
          'p',
          null,
          remaining === null ? 'Not known to this node.' : `${count.format(remaining)} units are left.`,
        )
      : h(Meter, { used, limit }),
    h(
      'dl',
      { class: 'facts' },
      h('dt', null, 'Left'),
      h('dd', null, remaining === null ? 'not known' : `${count.format(remaining)} units`),
      h('dt', null, 'Units come back'),
      h('dd', null, h(Moment, { iso: reset })),
      h('dt', null, 'Plan'),
      h(
        'dd',
        null,
        forecast === null ? 'not known' : `uses ${Math.round(forecast * 100)} % of what is left`,
        forecast !== null && forecast > 1 ? ', so some polls will be left out' : '',
      ),
    ),
  )
}

function Meter({ used, limit }: { used: number; limit: number }): ComponentChildren {
  const percent = Math.round((100 * used) / Math.max(1, limit))
  return h(
    'p',
    { class: 'meter' },
    h('meter', { min: 0, max: limit, value: used, 'aria-label': 'Quota used' }),
    h('span', null, `${count.format(used)} of ${count.format(limit)} used (${percent} %)`),
  )
}

function lagOf({ lagEvents, lagSeconds }: StatusAnswer['copy']): string {
  if (lagSeconds === null) return 'nothing was heard of the log yet'
  const since = inWords(lagSeconds * 1000)
  if (lagEvents === null) return `the log has not answered for ${since}`
  return lagEvents === 0 ? 'has everything' : `${count.format(lagEvents)} events and ${since} behind`
}

function extentOf({ oldest, latest }: StatusAnswer['log']): string {
  if (oldest === null || latest === null) return '–'
  return latest < oldest ? 'none yet' : `${count.format(oldest)} to ${count.format(latest)}`
}

function LogPanel({ status: { log, copy, roles } }: { status: StatusAnswer }): ComponentChildren {
  const isBehind = copy.lagSeconds === null || copy.lagSeconds >= 5
  const standing =
    copy.filled < 1
      ? h(StateMark, { tone: 'notice' }, `being filled: ${Math.floor(copy.filled * 100)} %`)
      : h(StateMark, { tone: isBehind ? 'notice' : 'good' }, lagOf(copy))
  return h(
    'section',
    { class: 'panel', 'aria-label': 'Log' },
    h('h2', null, 'Log'),
    h(
      'dl',
      { class: 'facts' },
      h('dt', null, 'Stored in'),
      h('dd', null, { kafka: 'Kafka', embedded: 'one file on this machine', memory: 'memory' }[log.kind]),
      h('dt', null, 'Events'),
      h('dd', null, extentOf(log)),
      h('dt', null, 'Epoch'),
      h('dd', null, log.epoch === null ? '–' : h('code', null, log.epoch)),
      h('dt', null, 'This node’s copy'),
      h('dd', null, standing),
      h('dt', null, 'This node does'),
      h('dd', null, roles.join(', ')),
    ),
  )
}
