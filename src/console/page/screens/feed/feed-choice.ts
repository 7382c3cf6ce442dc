/** Keeps which row of the feed is chosen and which are marked, as long as the feed is shown. */
import { createStore, type Store } from '../../shell/store.ts'
import type { FeedRow } from './feed-rows.ts'

/** What is chosen and marked. */
export interface ChoiceView {
  chosen: FeedRow | null
  marked: ReadonlySet<string>
  /** The row to scroll to and to give the focus; another `turn` asks for it again. */
  reveal: { row: FeedRow; turn: number } | null
}

/** The choice of one feed. Keys act on what holds now, which the reader may see a repaint later. */
export class FeedChoice {
  /** Nothing is chosen at first. */
  readonly view: Store<ChoiceView> = createStore<ChoiceView>({
    chosen: null,
    marked: new Set(),
    reveal: null,
  })

  /** Chooses a row, or none; `isByKey`: scrolls to it and gives it the focus. */
  choose(row: FeedRow | null, isByKey = false): void {
    const before = this.view.get()
    const turn = (before.reveal?.turn ?? 0) + 1
    this.view.set({
      ...before,
      chosen: row,
      reveal: isByKey && row !== null ? { row, turn } : before.reveal,
    })
  }

  /** Marks the chosen row, or takes its mark off. */
  toggleMark(): void {
    const before = this.view.get()
    if (before.chosen === null) return
    const marked = new Set(before.marked)
    if (!marked.delete(before.chosen.key)) marked.add(before.chosen.key)
    this.view.set({ ...before, marked })
  }
}
