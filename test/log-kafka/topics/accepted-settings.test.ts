import { describe, expect, it } from 'vitest'
import { acceptedSettings } from '../../../src/log-kafka/topics/accepted-settings.ts'

const MIB = 1024 * 1024
const wanted = {
  'message.timestamp.type': 'LogAppendTime',
  'min.insync.replicas': '2',
  'cleanup.policy': 'delete',
  'retention.ms': '5',
  'segment.ms': '3600000',
  'max.message.bytes': String(64 * MIB),
}

/** What a cluster accepts that refuses settings for which `isRefused` is true. */
function under(isRefused: (name: string, value: string) => boolean) {
  return acceptedSettings('p.t', wanted, async (settings) => {
    const refused = Object.entries(settings).find(([name, value]) => isRefused(name, value))
    return refused === undefined ? null : `not ${refused[0]}`
  })
}

describe('the settings of a topic that a cluster accepts', () => {
  it('are all of them where nothing is refused', async () => {
    expect(await under(() => false)).toEqual({ settings: wanted, changed: [] })
  })

  it('lack only those that it refuses', async () => {
    const { 'segment.ms': _refused, ...others } = wanted
    expect(await under((name) => name === 'segment.ms')).toEqual({
      settings: others,
      changed: ['segment.ms'],
    })
  })

  it('have a lower limit of the record size, and none below 2 MiB', async () => {
    const limited = (mib: number) =>
      under((name, value) => name === 'max.message.bytes' && Number(value) > mib * MIB)
    expect((await limited(10)).settings['max.message.bytes']).toBe(String(8 * MIB))
    expect(await limited(10)).toMatchObject({ changed: ['max.message.bytes'] })
    expect((await limited(1)).settings).not.toHaveProperty('max.message.bytes')
  })

  it('always hold clean-up, retention and replicas: a cluster that refuses these gets no topic', async () => {
    for (const name of ['cleanup.policy', 'retention.ms', 'min.insync.replicas']) {
      await expect(under((found) => found === name)).rejects.toMatchObject({
        code: 'kafka',
        message: `the cluster refuses to create p.t: not ${name}`,
      })
    }
  })
})
