import { ZipFile } from 'yazl';

/** A file, or a directory if it has no content; names of directories end in a slash. */
export interface ZipItem {
  readonly name: string;
  readonly content?: Uint8Array;
}

/** Already packed formats gain nothing from deflate. */
const packedName = /\.(?:ZIP|JPG|PNG|GIF|GZ)$/;

/**
 * A ZIP archive of the items in their order. Equal items and time give equal bytes, whatever the time zone of
 * the machine.
 */
export async function writeZip(items: readonly ZipItem[], at: Date): Promise<Buffer> {
  const zip = new ZipFile();
  const mtime = asLocalTime(at);
  for (const { name, content } of items) {
    if (content === undefined) zip.addEmptyDirectory(name, { mtime, mode: 0o40755, forceDosTimestamp: true });
    else
      zip.addBuffer(Buffer.from(content.buffer, content.byteOffset, content.byteLength), name, {
        mtime,
        mode: 0o100644,
        forceDosTimestamp: true,
        compress: !packedName.test(name),
      });
  }
  zip.end();
  const chunks: Uint8Array[] = [];
  for await (const chunk of zip.outputStream)
    chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  return Buffer.concat(chunks);
}

/**
 * ZIP holds local time without a zone; this date shows the UTC time in any zone. DOS knows no year before
 * 1980.
 */
function asLocalTime(at: Date): Date {
  return new Date(
    Math.max(at.getUTCFullYear(), 1980),
    at.getUTCMonth(),
    at.getUTCDate(),
    at.getUTCHours(),
    at.getUTCMinutes(),
    at.getUTCSeconds(),
  );
}
