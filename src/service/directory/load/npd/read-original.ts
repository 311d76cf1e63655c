import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { DirectoryError } from '../../errors.ts';

const zstdMagic = 0xfd2fb528;
const skippableMagic = 0x184d2a50;
const gzipMagic = 0x8b1f;

// Larger pieces than the defaults: fewer turns of the event loop per gigabyte.
const pieceBytes = 1 << 20;

/**
 * The decompressed content of a file. Its first bytes show the format: zstd, gzip or neither. Throws
 * DIRECTORY_FILE_BROKEN if the file is cut off or damaged, and DIRECTORY_RELEASE_PARTIAL as soon as there are
 * more than `originalBytes`, or fewer at the end. `onBytes` gets the number of bytes read from disk.
 */
export async function* readOriginal(
  file: string,
  originalBytes: number,
  onBytes: (count: number) => void,
): AsyncGenerator<Buffer> {
  let count = 0;
  for await (const piece of readFrames(file, onBytes)) {
    count += piece.length;
    if (count > originalBytes) throw wrongTotal(file, `more than ${originalBytes}`, originalBytes);
    yield piece;
  }
  if (count < originalBytes) throw wrongTotal(file, String(count), originalBytes);
}

function wrongTotal(file: string, found: string, expected: number): DirectoryError {
  return new DirectoryError(
    'DIRECTORY_RELEASE_PARTIAL',
    `${baseName(file)} has ${found} bytes decompressed; the manifest says ${expected}`,
  );
}

const baseName = (file: string): string => file.slice(file.lastIndexOf('/') + 1);

type Form = 'zstd' | 'gzip' | 'plain';

/** A zstd file may be several frames, one behind the other; Node's decoder ends with the first. */
async function* readFrames(file: string, onBytes: (count: number) => void): AsyncGenerator<Buffer> {
  const { form, size } = await probe(file);
  let start = 0;
  while (start < size) {
    const raw = createReadStream(file, { start, highWaterMark: pieceBytes / 4 });
    const decoder =
      form === 'zstd'
        ? createZstdDecompress({ chunkSize: pieceBytes })
        : form === 'gzip'
          ? createGunzip({ chunkSize: pieceBytes })
          : undefined;
    const stream = decoder === undefined ? raw : raw.pipe(decoder);
    raw.once('error', (error) => stream.destroy(error));
    let counted = 0;
    const count = (): void => {
      const consumed = decoder?.bytesWritten ?? raw.bytesRead;
      onBytes(consumed - counted);
      counted = consumed;
    };
    try {
      for await (const piece of stream as AsyncIterable<Buffer>) {
        yield piece;
        count();
      }
    } catch (cause) {
      if (cause instanceof DirectoryError) throw cause;
      throw new DirectoryError('DIRECTORY_FILE_BROKEN', `${baseName(file)} cannot be read to its end`, {
        cause,
      });
    } finally {
      raw.destroy();
    }
    count();
    if (counted === 0) throw new DirectoryError('DIRECTORY_FILE_BROKEN', `${baseName(file)} cannot be read`);
    start += counted;
  }
}

async function probe(file: string): Promise<{ readonly form: Form; readonly size: number }> {
  const handle = await open(file);
  try {
    const { buffer } = await handle.read(Buffer.alloc(4), 0, 4, 0);
    const { size } = await handle.stat();
    const magic = buffer.readUInt32LE();
    if (magic === zstdMagic || (magic & 0xfffffff0) === skippableMagic) return { form: 'zstd', size };
    return { form: (magic & 0xffff) === gzipMagic ? 'gzip' : 'plain', size };
  } finally {
    await handle.close();
  }
}
