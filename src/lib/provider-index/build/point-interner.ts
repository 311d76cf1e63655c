/** Gives every distinct pair of coordinates a number. */
export interface PointInterner {
  intern(latitude: number, longitude: number): number;
  /** The points by number. None can be added afterwards, and the memory for finding them is given back. */
  finish(): DistinctPoints;
}

export interface DistinctPoints {
  readonly count: number;
  readonly latitudes: Float64Array;
  readonly longitudes: Float64Array;
}

export function createPointInterner(): PointInterner {
  let coordinates = new Float64Array(2048);
  let slots = new Uint32Array(2048);
  let count = 0;
  // The bits of both numbers, for hashing.
  const pair = new Float64Array(2);
  const words = new Uint32Array(pair.buffer);

  function slotFor(latitude: number, longitude: number): number {
    pair[0] = latitude;
    pair[1] = longitude;
    let hash = 0;
    for (let index = 0; index < 4; index++)
      hash = Math.imul((hash ^ (words[index] as number)) + (hash >>> 15), 0x9e3779b1);
    const mask = slots.length - 1;
    let slot = (hash ^ (hash >>> 16)) & mask;
    for (let held = slots[slot] as number; held !== 0; held = slots[slot] as number) {
      if (coordinates[held * 2 - 2] === latitude && coordinates[held * 2 - 1] === longitude) return slot;
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  function enlarge(): void {
    if (count * 2 < slots.length) return;
    const larger = new Float64Array(coordinates.length * 2);
    larger.set(coordinates);
    coordinates = larger;
    slots = new Uint32Array(slots.length * 2);
    for (let point = 0; point < count; point++) {
      slots[slotFor(coordinates[point * 2] as number, coordinates[point * 2 + 1] as number)] = point + 1;
    }
  }

  return {
    intern(latitude, longitude) {
      // Adding zero turns -0 into 0.
      const slot = slotFor(latitude + 0, longitude + 0);
      const held = slots[slot] as number;
      if (held !== 0) return held - 1;
      coordinates[count * 2] = latitude + 0;
      coordinates[count * 2 + 1] = longitude + 0;
      slots[slot] = ++count;
      enlarge();
      return count - 1;
    },
    finish() {
      const [latitudes, longitudes] = [everyOther(coordinates, 0, count), everyOther(coordinates, 1, count)];
      [coordinates, slots] = [new Float64Array(0), new Uint32Array(0)];
      return { count, latitudes, longitudes };
    },
  };
}

function everyOther(values: Float64Array, first: number, count: number): Float64Array {
  const found = new Float64Array(count);
  for (let index = 0; index < count; index++) found[index] = values[index * 2 + first] as number;
  return found;
}
