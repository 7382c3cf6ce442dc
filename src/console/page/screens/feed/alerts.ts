/** Signals new announcements of a chosen importance: a tone, and a count in the title of a page that nobody looks at. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type AlertLevel, alertLevels } from '../../shell/preferences.ts'
import { useConsole } from '../../shell/services.ts'
import { useStore } from '../../shell/store.ts'
import { type FeedRow, levels } from './feed-rows.ts'

/** Signals of the feed. */
export interface FeedAlerts {
  /** To call with each new row. */
  note(row: FeedRow): void
  isOn(): boolean
  /** Signals since the page was last looked at. */
  unseen: number
}

const TONE_MS = 180
const LOUDNESS = 0.08
const LOW_HZ = 660
const HIGH_HZ = 990
/** A burst of three hundred is one tone. */
const APART_MS = 1500

/** Whether a row is of this importance or above. */
export function isAlert(row: FeedRow, from: AlertLevel): boolean {
  if (row.kind !== 'announcement' || row.level === null || from === 'off') return false
  return levels.indexOf(row.level) <= levels.indexOf(from)
}

/** The signals, by the preferences of this browser. */
export function useAlerts(): FeedAlerts {
  const { preferences, visibility, clock } = useConsole()
  const isVisible = useStore(visibility)
  const [unseen, setUnseen] = useState(0)
  const lastMs = useRef(0)
  const tones = useTones()
  useEffect(() => {
    if (isVisible) setUnseen(0)
  }, [isVisible])
  return {
    unseen,
    isOn: () => preferences.alertFrom.get() !== 'off',
    note(row) {
      if (!isAlert(row, preferences.alertFrom.get())) return
      if (!visibility.get()) setUnseen((count) => count + 1)
      if (!preferences.hasSound.get() || clock.now() - lastMs.current < APART_MS) return
      lastMs.current = clock.now()
      tones.play(row.kind === 'announcement' && row.level === 'ultra' ? HIGH_HZ : LOW_HZ)
    },
  }
}

/** Plays tones as long as the component is there. */
export function useTones(): Tones {
  const tones = useMemo(() => new Tones(), [])
  useEffect(() => () => tones.close(), [tones])
  return tones
}

/** Short tones, all by one connection to the loudspeaker: a browser gives a page a few. */
export class Tones {
  #context: AudioContext | null = null

  /** One tone. A browser that has seen no click or key yet plays none. */
  play(hertz: number): void {
    if (!navigator.userActivation.hasBeenActive) return
    this.#context ??= new AudioContext()
    if (this.#context.state === 'running') sound(this.#context, hertz)
    else void this.#context.resume().then(() => this.#context !== null && sound(this.#context, hertz))
  }

  close(): void {
    void this.#context?.close()
    this.#context = null
  }
}

function sound(context: AudioContext, hertz: number): void {
  const tone = context.createOscillator()
  const loudness = context.createGain()
  const endS = context.currentTime + TONE_MS / 1000
  tone.frequency.value = hertz
  loudness.gain.setValueAtTime(LOUDNESS, context.currentTime)
  loudness.gain.exponentialRampToValueAtTime(0.0001, endS)
  tone.connect(loudness).connect(context.destination)
  tone.addEventListener('ended', () => loudness.disconnect())
  tone.start()
  tone.stop(endS)
}

/** The names of the levels in the choice. */
export const alertWords: Readonly<Record<AlertLevel, string>> = {
  off: 'off',
  ultra: 'ultra',
  high: 'high and above',
  medium: 'medium and above',
  low: 'any importance',
}

/** The levels in the order of the choice. */
export const alertChoices = alertLevels
