import { geoAlbersUsa, geoCircle, geoPath } from 'd3-geo';

/** Size of the map in map units; `us-atlas` projects its outlines to it. */
const mapSize = { width: 975, height: 610 } as const;

/**
 * The projection of the `albers` files of `us-atlas`. Alaska and Hawaii are insets; places outside the fifty
 * states have no point.
 */
const projection = geoAlbersUsa()
  .scale(1300)
  .translate([mapSize.width / 2, mapSize.height / 2]);

/** Mean radius of the earth, as in `lib/geo`. */
const earthMiles = 3958.7613;

/** Miles per unit in the contiguous states: the radius of the earth over the scale of the projection. */
const milesPerUnit = earthMiles / 1300;

export interface Place {
  /** Decimal degrees. */
  readonly lat: number;
  readonly lng: number;
}

export interface MapPoint extends Place {
  readonly id: number;
  readonly label: string;
}

/** Overlapping points, drawn as one. */
export interface PointGroup {
  readonly x: number;
  readonly y: number;
  readonly points: readonly MapPoint[];
}

/** A section of the map with the aspect ratio of the whole map. */
export interface MapBox {
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

export const wholeMap: MapBox = { x: 0, y: 0, width: mapSize.width };

export function heightOf(box: MapBox): number {
  return (box.width * mapSize.height) / mapSize.width;
}

/** In units of the map; undefined outside the fifty states. */
export function project(place: Place): readonly [number, number] | undefined {
  return projection([place.lng, place.lat]) ?? undefined;
}

/** The SVG path of a circle on the ground, which the projection distorts; empty outside the map. */
export function circlePath(center: Place, miles: number): string {
  return geoPath(projection)(groundCircle(center, miles)) ?? '';
}

function groundCircle(center: Place, miles: number) {
  const degrees = (miles / earthMiles) * (180 / Math.PI);
  return geoCircle().center([center.lng, center.lat]).radius(degrees).precision(2)();
}

/** Groups points that lie within `distance` units of the first of their group, larger groups last. */
export function groupPoints(points: readonly MapPoint[], distance: number): readonly PointGroup[] {
  const cells = new Map<string, { x: number; y: number; points: MapPoint[] }>();
  for (const point of points) {
    const at = project(point);
    if (at === undefined) continue;
    const [x, y] = at;
    const key = `${Math.round(x / distance)},${Math.round(y / distance)}`;
    const cell = cells.get(key);
    if (cell === undefined) cells.set(key, { x, y, points: [point] });
    else cell.points.push(point);
  }
  return [...cells.values()].toSorted((a, b) => a.points.length - b.points.length || a.x - b.x);
}

/** The section of the map that shows all points and the circle, with a margin. */
export function fitBox(
  points: readonly Place[],
  circle: { readonly center: Place; readonly miles: number } | undefined,
): MapBox {
  const corners = points.flatMap((point) => {
    const at = project(point);
    return at === undefined ? [] : [at];
  });
  if (circle !== undefined) {
    const bounds = geoPath(projection).bounds(groundCircle(circle.center, circle.miles));
    if (bounds.flat().every(Number.isFinite)) corners.push(...bounds);
  }
  if (corners.length === 0) return wholeMap;
  const xs = corners.map(([x]) => x);
  const ys = corners.map(([, y]) => y);
  const [left, right] = [Math.min(...xs), Math.max(...xs)];
  const [top, bottom] = [Math.min(...ys), Math.max(...ys)];
  const aspect = mapSize.width / mapSize.height;
  const width = Math.max((right - left) * 1.5, (bottom - top) * 1.5 * aspect, 90);
  return clampBox({
    x: (left + right) / 2 - width / 2,
    y: (top + bottom) / 2 - width / aspect / 2,
    width,
  });
}

/** The nearest box inside the map. */
export function clampBox(box: MapBox): MapBox {
  const width = Math.min(mapSize.width, Math.max(40, box.width));
  const sized = { ...box, width };
  return {
    width,
    x: Math.min(Math.max(0, box.x), mapSize.width - width),
    y: Math.min(Math.max(0, box.y), mapSize.height - heightOf(sized)),
  };
}

export function zoomBox(box: MapBox, factor: number): MapBox {
  const width = box.width * factor;
  const grown = heightOf({ ...box, width }) - heightOf(box);
  return clampBox({ x: box.x - (width - box.width) / 2, y: box.y - grown / 2, width });
}

/** A round number of miles that spans about one fifth of the box, and its length in map units. */
export function scaleBar(box: MapBox): { readonly miles: number; readonly length: number } {
  const wanted = (box.width / 5) * milesPerUnit;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = [5, 2, 1].find((candidate) => candidate * power <= wanted) ?? 1;
  const miles = step * power;
  return { miles, length: miles / milesPerUnit };
}
