/** Packs the Helm chart as helm does, with the rules and dashboards in place of the links to them. */
import { cpSync, mkdirSync, readdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { packArchive } from './archive.ts'
import { type Release, settleFiles } from './product-folder.ts'

/** The chart's name, which is that of its folder inside. */
const NAME = 'disclosure-bridge'

/** Lays the chart out in `folder`, which is empty, and packs it into `target`. Returns the file's path. */
export async function packChart(folder: string, target: string, release: Release): Promise<string> {
  const chart = join(folder, NAME)
  mkdirSync(folder, { recursive: true })
  const source = join(release.root, 'deploy/helm')
  // cpSync itself follows no link inside a folder.
  for (const name of readdirSync(source)) {
    cpSync(realpathSync(join(source, name)), join(chart, name), { recursive: true })
  }
  cpSync(join(release.root, 'LICENSE'), join(chart, 'LICENSE'))
  settleFiles(chart, release)
  const file = join(target, `${NAME}-${release.version}.tgz`)
  await packArchive(chart, file)
  return file
}
