/**
 * Checks whether this machine lets a bridge listen at the addresses of the settings, by listening there for a moment. For a
 * machine where no bridge of these settings runs.
 */
import { BridgeError } from '../../errors.ts'
import { type ListenAddress, tryListening } from '../../http/listener.ts'
import type { Settings } from '../../settings/settings.ts'
import { type Finding, fail, warn } from './finding.ts'

/**
 * A failure for each address that is none of this machine or may not be used, a warning for a port that is taken; empty where
 * both can be used. `answers`: whether `checkBridge` has got an answer at the public address, and reports who is there.
 */
export async function checkListening(
  { http, ops }: Pick<Settings, 'http' | 'ops'>,
  answers: boolean,
): Promise<Finding[]> {
  const places = [
    ...(answers ? [] : [{ ...http, setting: 'BRIDGE_HTTP_PORT' }]),
    { ...ops, setting: 'BRIDGE_OPS_PORT' },
  ]
  return (await Promise.all(places.map(judge))).flat()
}

async function judge(place: ListenAddress): Promise<Finding[]> {
  try {
    await tryListening(place)
    return []
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error
    const { code, message, hint = '' } = error
    return [code === 'settings' ? fail('listen', message, hint, code) : warn('listen', message, hint)]
  }
}
