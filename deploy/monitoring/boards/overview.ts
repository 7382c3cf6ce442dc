/** The overview: is it working, is anything missing, how late is it, and how are the processes. */
import type { Board } from './board.ts'
import { budgetLimit, limitOf, objectiveLimit } from './limits.ts'
import { detectionLatency } from './panels.ts'
import { byInstallation, byProcess, INSTALLATION, quantileOf, quantilesOf, rateOf } from './query.ts'

const targets = `bridge:target:info${INSTALLATION}`

export const overview: Board = {
  uid: 'bridge',
  title: 'Bridge: overview',
  about: 'Is it working, is anything missing, how late is it.',
  rows: [
    {
      title: 'Now',
      panels: [
        {
          kind: 'number',
          title: 'Alerts that fire',
          about: 'Of the shipped rules; each has a runbook.',
          unit: 'short',
          limit: { bad: 'above', value: 1 },
          queries: [
            {
              expr:
                `count by (installation) (ALERTS{alertstate="firing",installation=~"$installation"}) ` +
                `or 0 * count by (installation) (${targets})`,
              legend: '{{installation}}',
            },
          ],
        },
        {
          kind: 'number',
          title: 'Processes that lead',
          about: 'Exactly one in each installation.',
          unit: 'short',
          limit: { bad: 'below', value: 1 },
          queries: [{ expr: `bridge:leader:sum${INSTALLATION}`, legend: '{{installation}}' }],
        },
        {
          kind: 'number',
          title: 'Since the last good poll',
          about:
            'At night and on days without trading an hour and more are meant: compare with the poll interval.',
          unit: 's',
          queries: [
            {
              expr: `time() - bridge:poll:last_success_timestamp${INSTALLATION}`,
              legend: '{{installation}}',
            },
          ],
        },
        {
          kind: 'number',
          title: 'Polling paused',
          about: '1 while an operator has paused polling: nothing new arrives.',
          unit: 'short',
          limit: { bad: 'above', value: 1 },
          queries: [byInstallation('max', 'bridge_polling_paused')],
        },
        {
          kind: 'number',
          title: 'Open gaps',
          about: 'Spans of time of which items may be missing.',
          unit: 'short',
          limit: limitOf('BridgeGapOpen'),
          queries: [byInstallation('max', 'bridge_gaps_open')],
        },
        {
          kind: 'number',
          title: 'Days that are not complete',
          about: 'Of the last seven that are over.',
          unit: 'short',
          limit: limitOf('BridgeDayIncomplete'),
          queries: [byInstallation('sum', 'bridge_days{state=~"gaps_left|failed|missed|over_budget"}')],
        },
        {
          kind: 'number',
          title: 'Quota left',
          about: 'Of the weekly quota.',
          unit: 'percentunit',
          limit: limitOf('BridgeQuotaLow'),
          queries: [byInstallation('min', 'bridge_quota_remaining_units / bridge_quota_limit_units')],
        },
      ],
    },
    {
      title: 'Objectives',
      panels: [
        {
          kind: 'graph',
          title: 'Commits',
          about: 'Duration of a commit. The line is the objective of 99.9 %.',
          unit: 's',
          limit: objectiveLimit('commit'),
          queries: quantilesOf('bridge_commit_duration_seconds', 0.999),
        },
        {
          kind: 'graph',
          title: 'Items of polls',
          about:
            'From fetching an item until its event was committed, without items of a fill. The line is the objective of 99.9 %.',
          unit: 's',
          limit: objectiveLimit('publish'),
          queries: quantilesOf('bridge_poll_publish_latency_seconds', 0.999),
        },
        {
          kind: 'graph',
          title: 'Events of streams',
          about: 'From stored in the log until written to the socket. The line is the objective of 99.9 %.',
          unit: 's',
          limit: objectiveLimit('stream'),
          queries: quantilesOf('bridge_stream_send_latency_seconds', 0.999),
        },
        {
          kind: 'graph',
          title: 'Share that missed its objective',
          about: 'Of the last hour, by objective. The line is what may miss it in a month.',
          unit: 'percentunit',
          limit: budgetLimit(),
          queries: [
            {
              expr: `bridge:objective_slow:ratio_1h${INSTALLATION}`,
              legend: '{{installation}} {{objective}}',
            },
          ],
        },
        detectionLatency,
        {
          kind: 'graph',
          title: 'From fetched to a webhook receiver',
          about: 'Until the receiver accepted the event, without replays.',
          unit: 's',
          queries: quantilesOf('bridge_webhook_delivery_latency_seconds'),
        },
      ],
    },
    {
      title: 'Processes',
      panels: [
        {
          kind: 'number',
          title: 'Readiness',
          about: 'The least of the checks of `/readyz`: 100 % is ready.',
          unit: 'percentunit',
          limit: limitOf('BridgeNotReady'),
          queries: [byInstallation('min', 'bridge_ready', 'instance', 'check')],
        },
        {
          kind: 'number',
          title: 'Running since',
          about: 'The start of each process.',
          unit: 's',
          queries: [byProcess('(time() - process_start_time_seconds)')],
        },
        {
          kind: 'number',
          title: 'Versions',
          about: 'Processes of each version; two during an upgrade.',
          unit: 'short',
          queries: [byInstallation('sum', 'bridge_build_info', 'version')],
        },
        {
          kind: 'graph',
          title: 'Memory',
          about: 'Resident memory.',
          unit: 'bytes',
          queries: [byProcess('process_resident_memory_bytes')],
        },
        {
          kind: 'graph',
          title: 'Processor',
          about: 'Cores in use.',
          unit: 'short',
          queries: [byProcess('rate(process_cpu_seconds_total[$__rate_interval])')],
        },
        {
          kind: 'graph',
          title: 'Open files',
          about: 'Connections and files. `ulimit -n` bounds them.',
          unit: 'short',
          queries: [byProcess('process_open_fds')],
        },
        {
          kind: 'graph',
          title: 'Event loop delay',
          about: 'The longest delay within a second, in nine of ten seconds.',
          unit: 's',
          limit: limitOf('BridgeEventLoopHeld'),
          queries: [quantileOf('bridge_event_loop_delay_seconds', 0.9, 'instance')],
        },
        {
          kind: 'graph',
          title: 'Event loop utilisation',
          about: 'At 100 % everything waits.',
          unit: 'percentunit',
          queries: [byProcess('rate(bridge_event_loop_busy_seconds_total[$__rate_interval])')],
        },
        {
          kind: 'graph',
          title: 'Requests by status',
          about: 'Requests to the public listener; `none`: the client left before the answer.',
          unit: 'reqps',
          queries: [rateOf('bridge_http_requests_total', 'code')],
        },
      ],
    },
  ],
}
