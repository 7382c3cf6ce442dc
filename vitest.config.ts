import { defineConfig } from 'vitest/config'

/** Folders whose tests start processes, listeners on real sockets or long runs; everything else is the unit tier. */
const slow = ['test/e2e/**', 'test/integration/**']

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [...slow],
          testTimeout: 20_000,
          // No test keeps state in a module: sharing them halves the tier's time.
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'whole',
          // Starts nothing by itself: the Kafka broker of the run comes up when the first test asks for it.
          globalSetup: 'test/support/kafka/keeper.ts',
          include: slow.map((folder) => `${folder}/*.test.ts`),
          testTimeout: 120_000,
          hookTimeout: 60_000,
          // These wait for bursts and time limits most of the time: more of them than cores run at once.
          maxWorkers: 6,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
