/**
 * Loaded into a process of a soak before the product: at SIGWINCH, which the product does not use, all garbage of its heap is
 * collected and freed pages are given back. A look right after it shows what is in use, and not what V8 has yet to collect.
 */
process.on('SIGWINCH', () => {
  if (globalThis.gc === undefined) throw new Error('start node with --expose-gc')
  globalThis.gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
})
