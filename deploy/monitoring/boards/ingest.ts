/** Ingest and completeness: what is asked of upstream, what comes, what is missing, and what the quota is spent on. */
import type { Board } from './board.ts'
import { limitOf, objectiveLimit } from './limits.ts'
import { detectionLatency } from './panels.ts'
import { byInstallation, byProcess, called, hourOf, quantilesOf, rateOf } from './query.ts'

export const ingest: Board = {
  uid: 'bridge-ingest',
  title: 'Bridge: ingest and completeness',
  about: 'What is asked of upstream, what comes, what is missing, and what the quota is spent on.',
  rows: [
    {
      title: 'Upstream',
      panels: [
        {
          kind: 'number',
          title: 'Upstream responds',
          about: 'The present state has the value 1.',
          unit: 'short',
          queries: [byInstallation('max', 'bridge_upstream_state', 'state')],
        },
        {
          kind: 'graph',
          title: 'Requests by purpose',
          about: 'Each costs a unit of the quota.',
          unit: 'cpm',
          queries: [perMinute(rateOf('bridge_poll_requests_total', 'purpose'))],
        },
        {
          kind: 'graph',
          title: 'Requests that failed',
          about: 'Every result but `new` and `empty`.',
          unit: 'cpm',
          queries: [perMinute(rateOf('bridge_poll_requests_total{result!~"new|empty"}', 'result'))],
        },
        {
          kind: 'graph',
          title: 'Status 429',
          about: 'By cause as the bridge classified them.',
          unit: 'cpm',
          queries: [perMinute(rateOf('bridge_upstream_429_total', 'kind'))],
        },
        {
          kind: 'graph',
          title: 'Poll interval',
          about: 'Between the last poll and the next. It follows the calendar.',
          unit: 's',
          queries: [byInstallation('max', 'bridge_poll_interval_seconds')],
        },
        {
          kind: 'graph',
          title: 'Since the last good poll',
          about: 'Of the leader.',
          unit: 's',
          queries: [byInstallation('max', '(time() - bridge_poll_last_success_timestamp_seconds)')],
        },
        {
          kind: 'graph',
          title: "Upstream's clock minus ours",
          about: 'Receivers of webhooks refuse signatures whose time is minutes off.',
          unit: 's',
          isSigned: true,
          limit: limitOf('BridgeClockSkew'),
          queries: [byInstallation('max', 'bridge_clock_skew_seconds')],
        },
      ],
    },
    {
      title: 'Items',
      panels: [
        {
          kind: 'graph',
          title: 'Items',
          about: 'Late ones count in addition to new or amended.',
          unit: 'cpm',
          queries: [perMinute(rateOf('bridge_items_total', 'disposition'))],
        },
        detectionLatency,
        {
          kind: 'graph',
          title: 'From fetched to committed',
          about: 'Of all items. Those of a fill wait for its pages, which is meant.',
          unit: 's',
          queries: quantilesOf('bridge_publish_latency_seconds', 0.999),
        },
        {
          kind: 'graph',
          title: 'From fetched to committed, without fills',
          about: 'Of items whose page had everything. The line is the objective of 99.9 %.',
          unit: 's',
          limit: objectiveLimit('publish'),
          queries: quantilesOf('bridge_poll_publish_latency_seconds', 0.999),
        },
        {
          kind: 'graph',
          title: 'Rejected items that are kept',
          about: 'Of the embedded log: at most 20,000, and as old as events may be.',
          unit: 'short',
          log: 'embedded',
          queries: [byInstallation('max', 'bridge_items_rejected_kept')],
        },
        {
          kind: 'graph',
          title: "Items ahead of upstream's present",
          about: 'Published in an hour although their time lies more than a minute ahead.',
          unit: 'short',
          queries: [hourOf('bridge_items_ahead_total')],
        },
      ],
    },
    {
      title: 'Completeness',
      panels: [
        {
          kind: 'graph',
          title: 'Open gaps',
          about: 'Spans of time of which items may be missing.',
          unit: 'short',
          limit: limitOf('BridgeGapOpen'),
          queries: [byInstallation('max', 'bridge_gaps_open')],
        },
        {
          kind: 'graph',
          title: 'Gaps by change of state, an hour',
          about: '`given_up`: items are missing for good.',
          unit: 'short',
          queries: [hourOf('bridge_gaps_total', 'state')],
        },
        {
          kind: 'graph',
          title: 'Days of the last week',
          about: 'Those that are over, by what is known of them. A day may count twice, in `gaps_left` too.',
          unit: 'short',
          queries: [byInstallation('max', 'bridge_days', 'state')],
        },
      ],
    },
    {
      title: 'Quota',
      panels: [
        {
          kind: 'number',
          title: 'Until used units return',
          about: 'The first of them.',
          unit: 's',
          isSigned: true,
          queries: [byInstallation('max', '(bridge_quota_reset_timestamp_seconds - time())')],
        },
        {
          kind: 'graph',
          title: 'Units of the week',
          about: 'Used, and the weekly quota.',
          unit: 'short',
          queries: [
            called('used', byInstallation('max', 'bridge_quota_used_units')),
            called('left', byInstallation('max', 'bridge_quota_remaining_units')),
            called('quota', byInstallation('max', 'bridge_quota_limit_units')),
          ],
        },
        {
          kind: 'graph',
          title: 'Planned use of the units that are left',
          about: 'Above the line the quota ends before its week.',
          unit: 'percentunit',
          limit: limitOf('BridgeQuotaForecast'),
          queries: [byInstallation('max', 'bridge_quota_forecast_ratio')],
        },
        {
          kind: 'graph',
          title: 'Units that upstream counts and the bridge does not',
          about: 'Of the quota. Above 0 another program uses the key.',
          unit: 'percentunit',
          isSigned: true,
          limit: limitOf('BridgeQuotaDrift'),
          queries: [byInstallation('max', 'bridge_quota_drift_ratio')],
        },
      ],
    },
    {
      title: 'Leader',
      panels: [
        {
          kind: 'graph',
          title: 'Who leads',
          about: 'Only the leader asks upstream.',
          unit: 'short',
          queries: [byProcess('bridge_leader')],
        },
        {
          kind: 'graph',
          title: 'Leading for',
          about: 'Since this process became leader.',
          unit: 's',
          queries: [byProcess('(time() - bridge_leader_since_timestamp_seconds)')],
        },
        {
          kind: 'graph',
          title: 'Changes of leader, an hour',
          about: 'A restart makes two.',
          unit: 'short',
          queries: [hourOf('bridge_leader_transitions_total', 'instance')],
        },
      ],
    },
  ],
}

function perMinute({ expr, legend }: { expr: string; legend: string }) {
  return { expr: `60 * ${expr}`, legend }
}
