/** Trials of brokers that are away or slow, and of two processes that both mean to lead. */

import { setTimeout as sleep } from 'node:timers/promises'
import { openKafkaLog } from '../../../../src/log-kafka/log.ts'
import { claimed } from '../../../log/samples.ts'
import type { KafkaNode } from '../../kafka/cluster.ts'
import { kafkaLogOptions } from '../../kafka/kafka-logs.ts'
import { startInstallation } from '../installation.ts'
import { overAndOver, publish } from '../operate.ts'
import { disposedWith, type PlacedFault, startOnOwnBroker } from '../placed-fault.ts'
import type { RunbookTrial } from './trial.ts'

export const kafkaTrials: readonly RunbookTrial[] = [
  {
    name: 'broker-away',
    about: 'the only broker is killed, beside a leader and a standby; then it is started',
    alerts: { BridgeLeaderCount: 90, BridgeKafkaErrors: 120, BridgeCopyBehind: 120 },
    // A rate of five minutes has the failed requests.
    overSeconds: 600,
    async start(kafka) {
      const { installation, broker } = await startOnOwnBroker('broker-away', kafka, 2)
      return {
        ...disposedWith(installation),
        break: () => broker.kill(),
        mend: () => broker.start(),
      }
    },
  },
  {
    name: 'broker-slow',
    about: 'the only broker stands still for 1.2 s of every 1.3, while items come; then it runs',
    alerts: { BridgeCommitSlow: 900, BridgePublishSlow: 900, BridgeBudgetBurns: 900 },
    // Their windows are of half an hour to three days.
    lasting: ['BridgeCommitSlow', 'BridgePublishSlow', 'BridgeBudgetBurns'],
    overSeconds: 60,
    async start(kafka) {
      const { installation, broker } = await startOnOwnBroker('broker-slow', kafka, 1)
      return { ...disposedWith(installation), ...slow(broker, () => publish(installation)) }
    },
  },
  {
    name: 'leaders-fight',
    about: 'a process that was not elected claims the log every ten seconds; then it leaves',
    alerts: { BridgeFencedTwice: 120 },
    // Its window.
    overSeconds: 660,
    async start(kafka) {
      const { brokers } = await kafka.shared()
      const installation = await startInstallation({ name: 'leaders-fight', brokers, nodes: 2 })
      const intruder = openKafkaLog(kafkaLogOptions(brokers, 'faults-leaders-fight'))
      const fault = overAndOver(async () => {
        const writer = await claimed(intruder)
        await sleep(10_000)
        await writer.release()
      })
      return { ...disposedWith(installation, { [Symbol.asyncDispose]: () => intruder.close() }), ...fault }
    },
  },
]

/** A broker that answers only now and then. */
function slow(broker: KafkaNode, each: () => void): Pick<PlacedFault, 'break' | 'mend'> {
  return overAndOver(async () => {
    each()
    await broker.signal('SIGSTOP')
    await sleep(1_200)
    await broker.signal('SIGCONT')
    await sleep(100)
  })
}
