import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/** Its bursts are against the clock: nothing else runs beside it. */
const MORNINGS = 'test/e2e/morning.test.ts'

/** Each starts a Chromium, which takes a core by itself. */
const BROWSERS = ['test/e2e/console/**/*.test.ts', 'test/e2e/browser.test.ts']

/** Tiers run one after the other: what waits on real time must not share the cores with what computes. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/e2e/**', 'test/integration/**'],
          // The simulated weeks take up to twenty seconds on a quiet machine of two cores.
          testTimeout: 120_000,
          // No test keeps state in a module: sharing them halves the tier's time.
          isolate: false,
          // Nothing else runs while they do, so every core is theirs.
          maxWorkers: availableParallelism(),
          sequence: { groupOrder: 0 },
        },
      },
      {
        // Many parts together in one process or a few, in virtual time or waiting: as many at once as there are cores.
        test: {
          name: 'integration',
          // Starts nothing by itself: the Kafka broker of the run comes up when the first test asks for it.
          globalSetup: 'test/support/kafka/runtime/keeper.ts',
          include: ['test/integration/**/*.test.ts'],
          maxWorkers: availableParallelism(),
          testTimeout: 120_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        // Whole processes against bursts and time limits: they wait most of the time, so more run at once than cores.
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          exclude: [MORNINGS, ...BROWSERS],
          testTimeout: 120_000,
          hookTimeout: 60_000,
          maxWorkers: 6,
          sequence: { groupOrder: 2 },
        },
      },
      {
        // What a person sees within seconds is measured: no more browsers at once than there are cores.
        test: {
          name: 'browser',
          include: BROWSERS,
          testTimeout: 120_000,
          hookTimeout: 60_000,
          maxWorkers: 2,
          sequence: { groupOrder: 3 },
        },
      },
      {
        // On lite the fill of a burst takes 1.6 s of the 2 s after which it would have to announce a gap.
        test: {
          name: 'mornings',
          include: [MORNINGS],
          testTimeout: 120_000,
          sequence: { groupOrder: 4 },
        },
      },
    ],
  },
})
