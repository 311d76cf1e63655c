import { deflateSync, crc32 } from 'node:zlib';
import type { Page } from 'playwright-core';

const maxColors = 64;
/** Colors that are chosen because they differ from all commoner ones, and by how much (squared). */
const distinctColors = 40;
const leastDistance = 30 ** 2;
const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** A PNG of the browser with few colors, the commonest and the most distinct: about a third of the size, and every mark keeps its color. */
export async function writeIndexedPng(page: Page, png: Buffer): Promise<Buffer> {
  const { width, height, data } = (await page.evaluate(`(async () => {
    const image = new Image();
    image.src = 'data:image/png;base64,${png.toString('base64')}';
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    let text = '';
    for (let at = 0; at < data.length; at += 32768)
      text += String.fromCharCode(...data.subarray(at, at + 32768));
    return { width: image.width, height: image.height, data: btoa(text) };
  })()`)) as { readonly width: number; readonly height: number; readonly data: string };
  const pixels = Buffer.from(data, 'base64');
  const { palette, indexOf } = choosePalette(pixels);
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const at = (y * width + x) * 4;
      rows[y * (width + 1) + 1 + x] = indexOf(keyOf(pixels, at));
    }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('PLTE', palette),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** A color with its lowest two bits dropped, so that shades of a smoothed edge fall together. */
function keyOf(pixels: Buffer, at: number): number {
  const [red = 0, green = 0, blue = 0] = [pixels[at], pixels[at + 1], pixels[at + 2]];
  return ((red >> 2) << 12) | ((green >> 2) << 6) | (blue >> 2);
}

function choosePalette(pixels: Buffer): { readonly palette: Buffer; indexOf(key: number): number } {
  const seen = new Map<number, { count: number; red: number; green: number; blue: number }>();
  for (let at = 0; at < pixels.length; at += 4) {
    const key = keyOf(pixels, at);
    const color = seen.get(key);
    if (color !== undefined) color.count++;
    else
      seen.set(key, {
        count: 1,
        red: pixels[at] ?? 0,
        green: pixels[at + 1] ?? 0,
        blue: pixels[at + 2] ?? 0,
      });
  }
  const byCount = [...seen].toSorted(([, a], [, b]) => b.count - a.count);
  // The color of a small mark is rare, and is kept because no other is like it.
  const distinct: typeof byCount = [];
  for (const entry of byCount) {
    if (distinct.length === distinctColors) break;
    if (distinct.every(([, color]) => distanceOf(color, entry[1]) >= leastDistance)) distinct.push(entry);
  }
  const others = byCount.filter((entry) => !distinct.includes(entry));
  const chosen = [...distinct, ...others.slice(0, maxColors - distinct.length)];
  const palette = Buffer.from(chosen.flatMap(([, { red, green, blue }]) => [red, green, blue]));
  const indexes = new Map(chosen.map(([key], index) => [key, index]));
  return {
    palette,
    indexOf(key) {
      const known = indexes.get(key);
      if (known !== undefined) return known;
      const wanted = seen.get(key) ?? { red: 0, green: 0, blue: 0 };
      let best = 0;
      let least = Number.POSITIVE_INFINITY;
      for (const [index, [, color]] of chosen.entries()) {
        const distance = distanceOf(color, wanted);
        if (distance < least) [least, best] = [distance, index];
      }
      indexes.set(key, best);
      return best;
    },
  };
}

interface Color {
  readonly red: number;
  readonly green: number;
  readonly blue: number;
}

/** Squared. */
function distanceOf(a: Color, b: Color): number {
  return (a.red - b.red) ** 2 + (a.green - b.green) ** 2 + (a.blue - b.blue) ** 2;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}
