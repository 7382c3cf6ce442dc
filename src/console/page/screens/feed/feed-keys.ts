/** The shortcuts of the feed. */
import type { Shortcut } from '../../shell/keys.ts'
import type { FeedChoice } from './feed-choice.ts'
import type { FeedModel } from './feed-model.ts'
import type { FeedRow } from './feed-rows.ts'

/** What the shortcuts act on. */
export interface FeedKeyParts {
  choice: FeedChoice
  model: FeedModel
  copy: (what: string, value: string) => void
  open: (row: FeedRow) => void
  toggleFilter: () => void
  back: () => void
}

const GROUP = 'Feed'

/** The shortcuts. Each acts on the rows and the choice at its moment: a second key may come before a repaint. */
export function feedShortcuts({ choice, model, copy, open, toggleFilter, back }: FeedKeyParts): Shortcut[] {
  const chosenRow = (): FeedRow | null => choice.view.get().chosen
  const place = (): { rows: readonly FeedRow[]; at: number } => {
    const { rows } = model.view.get()
    const chosen = chosenRow()
    return { rows, at: chosen === null ? -1 : rows.findIndex(({ key }) => key === chosen.key) }
  }
  const step = (by: 1 | -1): void => {
    const { rows, at } = place()
    const row = rows[Math.min(Math.max(at + by, 0), rows.length - 1)]
    if (row !== undefined) choice.choose(row, true)
  }
  const isImportant = (row: FeedRow): boolean =>
    row.kind === 'gap' || row.level === 'ultra' || row.level === 'high'
  const jump = (by: 1 | -1): void => {
    const { rows, at } = place()
    for (let index = at + by; index >= 0 && index < rows.length; index += by) {
      const row = rows[index]
      if (row !== undefined && isImportant(row)) return choice.choose(row, true)
    }
  }
  const withChosen = (act: (row: FeedRow) => void) => () => {
    const chosen = chosenRow()
    if (chosen !== null) act(chosen)
  }
  const key = (keys: string, does: string, run: () => void): Shortcut => ({ keys, group: GROUP, does, run })
  return [
    key('Space', 'Pause, or go on', () => model.togglePause()),
    key('j', 'Next row', () => step(1)),
    key('k', 'Row before', () => step(-1)),
    key('Enter', 'Open the chosen row', withChosen(open)),
    key('n', 'Next row of high importance or above, or gap', () => jump(1)),
    key('N', 'The one before', () => jump(-1)),
    key('m', 'Mark the chosen row, or take the mark off', () => choice.toggleMark()),
    key(
      'y',
      'Copy the id of the chosen row',
      withChosen(({ id }) => copy('id', id)),
    ),
    key(
      'Y',
      'Copy its cursor',
      withChosen(({ cursor }) => copy('cursor', cursor)),
    ),
    key('/', 'Open or close the filter', toggleFilter),
    key('Esc', 'Close what is open, or go on', back),
  ]
}
