/** Webhooks: attempts, deliveries that wait or were given up, endpoints, and the shards that hold them. */
import type { Board } from './board.ts'
import { limitOf } from './limits.ts'
import { byInstallation, byProcess, hourOf, quantilesOf, rateOf } from './query.ts'

export const webhooks: Board = {
  uid: 'bridge-webhooks',
  title: 'Bridge: webhooks',
  about: 'Attempts, deliveries that wait or were given up, endpoints, and the shards that hold them.',
  rows: [
    {
      title: 'Now',
      panels: [
        {
          kind: 'number',
          title: 'Endpoints',
          about: 'By status.',
          unit: 'short',
          queries: [byInstallation('max', 'bridge_webhook_endpoints', 'status')],
        },
        {
          kind: 'number',
          title: 'Endpoints that fail',
          about: 'Whose last attempt failed; and of them those without a success for an hour.',
          unit: 'short',
          limit: limitOf('BridgeWebhookFailing'),
          queries: [
            byInstallation('sum', 'bridge_webhook_failing_endpoints'),
            byInstallation('sum', 'bridge_webhook_failing_long_endpoints'),
          ],
        },
        {
          kind: 'number',
          title: 'Oldest pending delivery',
          about:
            'Since the bridge fetched its item. Replays and endpoints that catch up make it large without a fault.',
          unit: 's',
          limit: limitOf('BridgeWebhookLate'),
          queries: [byInstallation('max', 'bridge_webhook_oldest_pending_seconds')],
        },
        {
          kind: 'number',
          title: 'Given up',
          about: 'Deliveries that can be replayed.',
          unit: 'short',
          queries: [byInstallation('sum', 'bridge_webhook_dead')],
        },
        {
          kind: 'number',
          title: 'Stuck shards',
          about: 'Their endpoints get nothing.',
          unit: 'short',
          limit: limitOf('BridgeShardStuck'),
          queries: [byInstallation('sum', 'bridge_webhook_shards{state="stuck"}')],
        },
      ],
    },
    {
      title: 'Attempts',
      panels: [
        {
          kind: 'graph',
          title: 'Attempts by outcome',
          about: 'Finished attempts.',
          unit: 'ops',
          queries: [rateOf('bridge_webhook_attempts_total', 'outcome')],
        },
        {
          kind: 'graph',
          title: 'Duration of an attempt',
          about: 'From the DNS lookup to the last byte of the response.',
          unit: 's',
          queries: quantilesOf('bridge_webhook_attempt_duration_seconds'),
        },
        {
          kind: 'graph',
          title: 'Attempts under way',
          about: 'Each takes one of the places of a node.',
          unit: 'short',
          queries: [byProcess('bridge_webhook_attempts_under_way')],
        },
      ],
    },
    {
      title: 'Deliveries',
      panels: [
        {
          kind: 'graph',
          title: 'From fetched to accepted',
          about: 'Without replays.',
          unit: 's',
          queries: quantilesOf('bridge_webhook_delivery_latency_seconds'),
        },
        {
          kind: 'graph',
          title: 'Pending deliveries',
          about: 'In flight or waiting for a retry; without events that an endpoint has not read yet.',
          unit: 'short',
          queries: [byProcess('bridge_webhook_pending')],
        },
        {
          kind: 'graph',
          title: 'Oldest pending delivery',
          about: 'Since the bridge fetched its item.',
          unit: 's',
          limit: limitOf('BridgeWebhookLate'),
          queries: [byProcess('bridge_webhook_oldest_pending_seconds')],
        },
        {
          kind: 'graph',
          title: 'Endpoints that the bridge disabled, an hour',
          about: '`gone`: they answered 410. `failing`: for five days.',
          unit: 'short',
          queries: [hourOf('bridge_webhook_disabled_total', 'reason')],
        },
        {
          kind: 'graph',
          title: 'Forgotten deliveries, an hour',
          about:
            'Given up and no longer listed, because their tenant had too many. A replay by time or id still sends them.',
          unit: 'short',
          queries: [hourOf('bridge_webhook_dead_forgotten_total')],
        },
        {
          kind: 'graph',
          title: 'Attempts missing in the history, an hour',
          about: 'The journal could not store them; no delivery depends on it.',
          unit: 'short',
          queries: [hourOf('bridge_webhook_journal_dropped_total')],
        },
        {
          kind: 'graph',
          title: 'Shards',
          about: 'Which node delivers how many of them.',
          unit: 'short',
          queries: [byProcess('bridge_webhook_shards', 'state')],
        },
      ],
    },
  ],
}
