/**
 * Tests that the table of rights in docs/run/kafka-security.md suffices on a broker with an authorizer, and that
 * errors name the missing right.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type AclEntry,
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  ResourcePatternTypes,
} from 'kafkajs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { groupElections } from '../../../src/log-kafka/group/leader.ts'
import { inspectKafka } from '../../../src/log-kafka/inspect.ts'
import { type KafkaLog, openKafkaLog } from '../../../src/log-kafka/log.ts'
import { journalled } from '../../log/journals.ts'
import { beginOwning, foundBy, putRow } from '../../log/owning.ts'
import { claimed, followed, sampleRejected } from '../../log/samples.ts'
import { root } from '../../support/house/repository.ts'
import { kafkaClient } from '../../support/kafka/clients.ts'
import { type KafkaCluster, startCluster } from '../../support/kafka/cluster.ts'
import { kafkaRuntime } from '../../support/kafka/for-tests.ts'
import { kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'
import { commitPositions } from '../../support/kafka/positions.ts'
import { newestRejected } from '../../support/newest-rejected.ts'
import { eventAt } from '../../support/store.ts'

const runtime = await kafkaRuntime()
const PREFIX = 'disclosures'
const PASSWORD = 'opens-the-test-broker'
const USERS = ['poller', 'reader', 'webhooks', 'unwritten', 'narrow', 'watching', 'uncreating']

interface Row {
  role: string
  resource: string
  name: string
  operations: string[]
}

/** The rows of the table under "Rights". */
const rows: Row[] = [
  ...readFileSync(join(root, 'docs/run/kafka-security.md'), 'utf8').matchAll(
    /^\| (poller|reader|webhooks) \| ([a-z ]+) \| `([^`]+)` \| ([\w, ]+) \|$/gm,
  ),
].map(([, role = '', resource = '', name = '', operations = '']) => ({
  role,
  resource,
  name,
  operations: operations.split(', '),
}))

const resourceTypes: Record<string, AclResourceTypes> = {
  topic: AclResourceTypes.TOPIC,
  group: AclResourceTypes.GROUP,
  'transactional id': AclResourceTypes.TRANSACTIONAL_ID,
}
const operationTypes: Record<string, AclOperationTypes> = {
  Create: AclOperationTypes.CREATE,
  Describe: AclOperationTypes.DESCRIBE,
  Read: AclOperationTypes.READ,
  Write: AclOperationTypes.WRITE,
}

function rightsOf(user: string, granted: readonly Row[]): AclEntry[] {
  return granted.flatMap(({ resource, name, operations }) =>
    operations.map((operation) => ({
      resourceType: resourceTypes[resource] ?? AclResourceTypes.UNKNOWN,
      resourceName: name,
      resourcePatternType: ResourcePatternTypes.PREFIXED,
      principal: `User:${user}`,
      host: '*',
      operation: operationTypes[operation] ?? AclOperationTypes.UNKNOWN,
      permissionType: AclPermissionTypes.ALLOW,
    })),
  )
}

describe.skipIf(runtime === null)('a broker with an authorizer', () => {
  let cluster: KafkaCluster

  beforeAll(async () => {
    if (runtime === null) return
    const users = USERS.map((user) => `user_${user}="${PASSWORD}"`).join(' ')
    const login = `org.apache.kafka.common.security.plain.PlainLoginModule required ${users};`
    cluster = await startCluster({
      runtime,
      listeners: [
        {
          name: 'SASL',
          protocol: 'SASL_PLAINTEXT',
          properties: { 'sasl.enabled.mechanisms': 'PLAIN', 'plain.sasl.jaas.config': login },
        },
      ],
      properties: {
        'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
        // The broker itself, and the administrator of this test.
        'super.users': 'User:ANONYMOUS',
      },
    })
    const admin = kafkaClient(cluster.brokers).admin()
    await admin.connect()
    const pollerRows = rows.filter(({ role }) => role === 'poller')
    await admin.createAcls({
      acl: [
        ...rightsOf('poller', pollerRows),
        ...rightsOf(
          'reader',
          rows.filter(({ role }) => role === 'reader'),
        ),
        ...rightsOf(
          'watching',
          rows.filter(({ role }) => role === 'reader'),
        ),
        {
          ...{ resourceType: AclResourceTypes.GROUP, resourceName: '*' },
          ...{ resourcePatternType: ResourcePatternTypes.LITERAL, principal: 'User:watching', host: '*' },
          ...{ operation: AclOperationTypes.DESCRIBE, permissionType: AclPermissionTypes.ALLOW },
        },
        ...rightsOf(
          'webhooks',
          rows.filter(({ role }) => role === 'reader' || role === 'webhooks'),
        ),
        ...rightsOf(
          'unwritten',
          pollerRows.filter(({ resource }) => resource !== 'transactional id'),
        ),
        ...rightsOf(
          'uncreating',
          pollerRows.map((row) => ({
            ...row,
            operations: row.operations.filter((operation) => operation !== 'Create'),
          })),
        ),
        ...rightsOf(
          'narrow',
          pollerRows.filter(({ resource }) => resource === 'transactional id'),
        ),
        ...rightsOf('narrow', [
          { role: 'narrow', resource: 'topic', name: PREFIX, operations: ['Describe', 'Read'] },
          { role: 'narrow', resource: 'topic', name: `${PREFIX}.all`, operations: ['Write'] },
        ]),
      ],
    })
    await admin.disconnect()
  })
  afterAll(() => cluster?.stop())

  function logAs(username: string): KafkaLog {
    const options = kafkaLogOptions(cluster.addresses('SASL'), PREFIX)
    const sasl = { mechanism: 'plain' as const, username, password: PASSWORD }
    return openKafkaLog({
      ...options,
      openElections: groupElections,
      connection: { ...options.connection, sasl },
    })
  }

  it('lets a poller lead, write, create the topic of a new category and read', async () => {
    expect(rows.length).toBeGreaterThan(4)
    const log = logAs('poller')
    try {
      const writer = await claimed(log)
      await writer.spend(1, 'poll', Date.now())
      await writer.commit({ events: [eventAt(1), eventAt(2)], rejected: [sampleRejected(1)] })
      await log.table('words').put('one', 'written by the poller')
      expect(await followed(log, 0, 2)).toHaveLength(2)
      expect(await newestRejected(log, 10)).toHaveLength(1)
    } finally {
      await log.close()
    }
  })

  it('lets a reader follow the log, look up events and write its tables', async () => {
    const log = logAs('reader')
    try {
      expect(await followed(log, 0, 2)).toHaveLength(2)
      expect(await newestRejected(log, 10)).toHaveLength(1)
      await log.table('words').put('two', 'written by the reader')
      expect(await log.table('words').load()).toEqual(
        new Map([
          ['one', 'written by the poller'],
          ['two', 'written by the reader'],
        ]),
      )
    } finally {
      await log.close()
    }
  })

  it('lets a reader write and read the audit journal, and no other', async () => {
    const log = logAs('reader')
    try {
      const journal = log.journal('audit', 86_400_000)
      await journal.append(['changed'])
      expect((await journalled(journal, null, 1)).records).toEqual(['changed'])
      await expect(log.journal('attempts', 86_400_000).append(['x'])).rejects.toMatchObject({
        code: 'log_unavailable',
      })
    } finally {
      await log.close()
    }
  })

  it('lets a webhook node own shards and write a journal', async () => {
    const log = logAs('webhooks')
    try {
      const owner = beginOwning(log, 'webhooks', 4)
      await owner.holds(4)
      await putRow(await owner.shard(3), 'one', 1)
      await owner.stop()
      expect((await foundBy(log, 'webhooks', 4))[3]).toEqual({ one: 1 })
      const journal = log.journal('attempts', 86_400_000)
      await journal.append(['first'])
      expect((await journalled(journal, null, 1)).records).toEqual(['first'])
    } finally {
      await log.close()
    }
  })

  it('lets a reader send requests and a poller respond', async () => {
    const [reader, poller] = [logAs('reader'), logAs('poller')]
    try {
      const { signal } = new AbortController()
      void poller.requests.serve(async (question) => `${question}!`, signal)
      expect(await reader.requests.send('question', signal)).toBe('question!')
    } finally {
      await Promise.all([reader.close(), poller.close()])
    }
  })

  it('lists consumer groups to a user that may describe them, and says to others that some may be missing', async () => {
    await commitPositions(cluster.brokers, { desk: { [`${PREFIX}.all`]: 0 } })
    for (const [user, groups, incomplete] of [
      ['watching', ['desk'], null],
      ['reader', [], expect.stringMatching(/^Groups may be missing\. .*the right Describe/)],
      ['poller', [], expect.stringMatching(/^Groups may be missing\. .*the right Describe/)],
    ] as const) {
      const log = logAs(user)
      try {
        const found = await log.consumers?.({ after: null, limit: 10 }, AbortSignal.timeout(20_000))
        expect([user, found?.groups.map(({ group }) => group), found?.incomplete]).toEqual([
          user,
          groups,
          incomplete,
        ])
      } finally {
        await log.close()
      }
    }
  })

  it('makes the error of a writer without rights name the remedy', async () => {
    const log = logAs('unwritten')
    try {
      await expect(claimed(log)).rejects.toMatchObject({ hint: expect.stringContaining('rights') })
    } finally {
      await log.close()
    }
  })

  it('lets a poller without Create go on where a topic is deleted that no commit needs, and names the right where one is', async () => {
    const log = logAs('uncreating')
    const admin = kafkaClient(cluster.brokers).admin()
    await admin.connect()
    try {
      await (await claimed(log)).spend(1, 'poll', Date.now())
      await admin.deleteTopics({ topics: [`${PREFIX}.status`] })
      await (await claimed(log)).spend(1, 'poll', Date.now())
      await admin.deleteTopics({ topics: [`${PREFIX}.gaps`] })
      await expect(claimed(log)).rejects.toMatchObject({
        code: 'log_unavailable',
        message: expect.stringContaining('creating topics failed'),
        hint: expect.stringContaining('rights'),
      })
    } finally {
      await Promise.all([log.close(), admin.disconnect()])
    }
  })

  /** The doctor's findings as that user, with the role poller. */
  function reportTo(username: string) {
    const options = kafkaLogOptions(cluster.addresses('SASL'), PREFIX)
    const sasl = { mechanism: 'plain' as const, username, password: PASSWORD }
    const connection = { ...options.connection, sasl }
    return inspectKafka({ ...options, connection, polls: true }, AbortSignal.timeout(20_000))
  }

  it('lets the doctor check, without writing, that a poller has the necessary rights', async () => {
    const log = logAs('poller')
    try {
      const writer = await claimed(log)
      expect(await reportTo('poller')).toMatchObject({
        missing: [],
        refused: [],
        creation: null,
        unread: expect.stringContaining('settings of topics'),
      })
      // It has fenced no writer.
      await writer.spend(1, 'poll', Date.now())
    } finally {
      await log.close()
    }
  })

  it('lets the doctor name the missing write right', async () => {
    expect((await reportTo('unwritten')).refused).toEqual([
      expect.stringContaining(`writing with the transactional id ${PREFIX}.writer failed`),
    ])
    const { refused, creation } = await reportTo('narrow')
    // Only some of the refused topics are named.
    expect(refused).toContainEqual(expect.stringMatching(/^Kafka: writing to disclosures\.[\w.]+ failed/))
    expect(refused).toContainEqual(
      expect.stringContaining(`standing for leader in the group ${PREFIX}.leader`),
    )
    expect(refused).not.toContainEqual(expect.stringContaining(`writing to ${PREFIX}.all failed`))
    expect(creation).toContain('making topics failed')
  })
})
