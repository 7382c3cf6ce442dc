/** Prints entries as rows of aligned columns under a header. */
import type { Paint, Tone } from './text.ts'

/** A column; `Entry` is what a row is made of. */
export interface Column<Entry> {
  title: string
  /** Characters; longer text pushes the rest of its row aside. The last column needs none. */
  width?: number
  /** The text of the cell, safe to print; a dash is shown where it is empty. */
  cell: (entry: Entry) => string
  tone?: (entry: Entry) => Tone
  /** Whether it is aligned right. */
  isNumber?: true
}

const NONE = '–'

/** The row of titles. */
export function headerRow<Entry>(columns: readonly Column<Entry>[], paint: Paint): string {
  return paint('soft', joined(columns.map((column) => padded(column.title, column))))
}

/** The row of an entry. */
export function tableRow<Entry>(columns: readonly Column<Entry>[], entry: Entry, paint: Paint): string {
  return joined(
    columns.map((column) =>
      paint(column.tone?.(entry) ?? 'plain', padded(column.cell(entry) || NONE, column)),
    ),
  )
}

function padded<Entry>(text: string, { width = 0, isNumber }: Column<Entry>): string {
  return isNumber === true ? text.padStart(width) : text.padEnd(width)
}

function joined(cells: readonly string[]): string {
  return cells.join('  ').trimEnd()
}
