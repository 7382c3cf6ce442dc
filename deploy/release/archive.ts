/** Packs a folder into a `.tar.gz` whose bytes depend on its files only. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { basename, dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'

/** Options of tar: owner, order and format are fixed; rights and times are those of the files. */
export const TAR_OPTIONS = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--format=gnu']

/** Writes the archive, which holds the folder by its name. Node compresses: its version is part of the release. */
export async function packArchive(folder: string, file: string): Promise<void> {
  const tar = spawn('tar', [...TAR_OPTIONS, '-C', dirname(folder), '-c', basename(folder)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, LC_ALL: 'C' },
  })
  const ended = once(tar, 'close')
  await pipeline(tar.stdout, createGzip(), createWriteStream(file))
  const [code] = await ended
  if (code !== 0) throw new Error(`tar ended with ${code}`)
}
