/** Moves the crosshair of a chart by keys, as those of a slider. */

/** Slots that PageUp and PageDown move over: an hour of five minutes. */
const PAGE = 12

/** The slot that a key leads to from `index`; null for a key that does nothing here. */
export function slotAfterKey(key: string, index: number | null, count: number): number | null {
  const at = index ?? 0
  const moves: Readonly<Record<string, number>> = {
    ArrowRight: index === null ? 0 : at + 1,
    ArrowUp: index === null ? 0 : at + 1,
    ArrowLeft: index === null ? count - 1 : at - 1,
    ArrowDown: index === null ? count - 1 : at - 1,
    PageUp: at + PAGE,
    PageDown: at - PAGE,
    Home: 0,
    End: count - 1,
  }
  const to = moves[key]
  return to === undefined || count === 0 ? null : Math.min(Math.max(to, 0), count - 1)
}
