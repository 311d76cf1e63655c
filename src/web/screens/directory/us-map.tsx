import { geoIdentity, geoPath } from 'd3-geo';
import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type PointerEvent } from 'react';
import { feature, mesh } from 'topojson-client';
import statesFile from 'us-atlas/states-albers-10m.json';
import {
  circlePath,
  clampBox,
  fitBox,
  groupPoints,
  heightOf,
  project,
  scaleBar,
  wholeMap,
  zoomBox,
  type MapBox,
  type MapPoint,
  type Place,
  type PointGroup,
} from './map-geometry.ts';

export interface MapCircle {
  readonly center: Place;
  readonly miles: number;
}

interface UsMapProps {
  readonly points: readonly MapPoint[];
  readonly circle: MapCircle | undefined;
  readonly selected: ReadonlySet<number>;
  /** Called with the records of a place. */
  onSelect(ids: readonly number[]): void;
  /** The content of the map as text. */
  readonly summary: string;
}

const topology = statesFile as unknown as Parameters<typeof mesh>[0];
const drawing = topology.objects['states'];
if (drawing === undefined) throw new Error('us-atlas: no object `states`');
const outline = geoPath();
const borders = outline(mesh(topology)) ?? '';
const collection = feature(topology, drawing);
const states = (collection.type === 'FeatureCollection' ? collection.features : [collection]).map(
  (shape) => ({
    name: String(shape.properties?.['name'] ?? ''),
    path: outline(shape) ?? '',
    shape,
  }),
);

/** Approximate distance in pixels between the centers of two groups. */
const groupDistancePx = 11;

/** The fifty states with results as points; overlapping places become one point with a count. */
export function UsMap({ points, circle, selected, onSelect, summary }: UsMapProps) {
  const fitted = useMemo(() => fitBox(points, circle && { ...circle }), [points, circle]);
  const [box, setBox] = useState<MapBox>(circle === undefined ? wholeMap : fitted);
  useEffect(() => setBox(circle === undefined ? wholeMap : fitted), [circle, fitted]);
  const frame = useRef<SVGSVGElement>(null);
  const pxWidth = useWidth(frame);
  const unit = box.width / pxWidth;
  const groups = useMemo(() => groupPoints(points, groupDistancePx * unit), [points, unit]);
  const names = useMemo(() => placeNames(box, unit), [box, unit]);
  const [focused, setFocused] = useState<number | undefined>();
  const current = focused === undefined ? undefined : groups[focused];
  const drag = useDrag(box, unit, setBox);

  function handleKey(event: KeyboardEvent): void {
    if (event.metaKey || event.ctrlKey || event.altKey) return;
    if (event.key === '+' || event.key === '=') setBox(zoomBox(box, 0.6));
    else if (event.key === '-') setBox(zoomBox(box, 1 / 0.6));
    else if (event.key in directions) setFocused(findNext(groups, focused, directions[event.key] ?? [0, 0]));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  const scale = scaleBar(box);
  return (
    <figure className="us-map">
      <div className="us-map-frame">
        <svg
          ref={frame}
          viewBox={`${box.x} ${box.y} ${box.width} ${heightOf(box)}`}
          aria-hidden="true"
          {...drag}
        >
          {states.map((state) => (
            <path key={state.name} className="us-map-state" d={state.path} />
          ))}
          <path className="us-map-border" d={borders} vectorEffect="non-scaling-stroke" />
          {names.map(({ text, x, y }) => (
            <text key={text} className="us-map-name" x={x} y={y} fontSize={10 * unit}>
              {text}
            </text>
          ))}
          {circle !== undefined && <CircleOnGround circle={circle} unit={unit} />}
          {groups.map((group, index) => (
            <Point
              key={group.points[0]?.id}
              group={group}
              unit={unit}
              isSelected={group.points.some(({ id }) => selected.has(id))}
              isFocused={index === focused}
              onSelect={onSelect}
            />
          ))}
        </svg>
        <button
          type="button"
          className="us-map-keys"
          aria-label={`Map. ${summary} Arrow keys move between places, Enter shows the records of a place, plus and minus zoom.`}
          onKeyDown={handleKey}
          onClick={() => current !== undefined && onSelect(current.points.map(({ id }) => id))}
          onBlur={() => setFocused(undefined)}
        />
        <div className="us-map-scale" aria-hidden="true">
          <span style={{ width: `${scale.length / unit}px` }} />
          {scale.miles.toLocaleString('en-US')} mi
        </div>
        <div className="us-map-tools">
          <button type="button" onClick={() => setBox(zoomBox(box, 0.6))} aria-label="Zoom in">
            +
          </button>
          <button type="button" onClick={() => setBox(zoomBox(box, 1 / 0.6))} aria-label="Zoom out">
            −
          </button>
          <button type="button" onClick={() => setBox(fitted)}>
            Fit
          </button>
          <button type="button" onClick={() => setBox(wholeMap)}>
            All
          </button>
        </div>
      </div>
      <figcaption>
        {summary}
        <span className="us-map-place" aria-live="polite">
          {current === undefined ? '' : ` ${describeGroup(current)}`}
        </span>
      </figcaption>
    </figure>
  );
}

/** The abbreviations of the states that have room for one, in the center of the visible part of the state. */
function placeNames(
  box: MapBox,
  unit: number,
): readonly { readonly text: string; readonly x: number; readonly y: number }[] {
  const inView = geoPath(
    geoIdentity().clipExtent([
      [box.x, box.y],
      [box.x + box.width, box.y + heightOf(box)],
    ]),
  );
  return states.flatMap(({ name, shape }) => {
    const text = abbreviations[name];
    const [[left], [right]] = inView.bounds(shape);
    if (text === undefined || !((right - left) / unit >= 34)) return [];
    const [x, y] = inView.centroid(shape);
    return [{ text, x, y }];
  });
}

interface PointProps {
  readonly group: PointGroup;
  readonly unit: number;
  readonly isSelected: boolean;
  readonly isFocused: boolean;
  onSelect(ids: readonly number[]): void;
}

function Point({ group, unit, isSelected, isFocused, onSelect }: PointProps) {
  const count = group.points.length;
  const radius = (count === 1 ? 4 : Math.min(14, 6 + Math.sqrt(count))) * unit;
  const marks = [isSelected ? 'is-selected' : '', isFocused ? 'is-focused' : ''].join(' ');
  return (
    <g className={`us-map-point ${marks}`} onClick={() => onSelect(group.points.map(({ id }) => id))}>
      <title>{describeGroup(group)}</title>
      {isFocused && <circle className="us-map-ring" cx={group.x} cy={group.y} r={radius + 4 * unit} />}
      <circle cx={group.x} cy={group.y} r={radius} vectorEffect="non-scaling-stroke" />
      {count > 1 && (
        <text x={group.x} y={group.y} fontSize={9 * unit}>
          {count}
        </text>
      )}
    </g>
  );
}

function CircleOnGround({ circle, unit }: { readonly circle: MapCircle; readonly unit: number }) {
  const center = project(circle.center);
  return (
    <g className="us-map-circle">
      <path d={circlePath(circle.center, circle.miles)} vectorEffect="non-scaling-stroke" />
      {center !== undefined && (
        <path
          className="us-map-center"
          d={`M${center[0] - 5 * unit} ${center[1]}h${10 * unit}M${center[0]} ${center[1] - 5 * unit}v${10 * unit}`}
          vectorEffect="non-scaling-stroke"
        />
      )}
    </g>
  );
}

function describeGroup(group: PointGroup): string {
  const [first] = group.points;
  const more = group.points.length - 1;
  return `${first?.label ?? ''}${more > 0 ? ` and ${more} more` : ''}.`;
}

const directions: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** The nearest group in the direction of an arrow key; sideways distance counts double. */
function findNext(
  groups: readonly PointGroup[],
  from: number | undefined,
  [dx, dy]: readonly [number, number],
): number | undefined {
  const start = from === undefined ? undefined : groups[from];
  if (start === undefined) return groups.length === 0 ? undefined : groups.length - 1;
  let best = from;
  let least = Infinity;
  for (const [index, group] of groups.entries()) {
    const ahead = (group.x - start.x) * dx + (group.y - start.y) * dy;
    const aside = Math.abs((group.x - start.x) * dy) + Math.abs((group.y - start.y) * dx);
    if (index === from || ahead <= 0 || aside > ahead * 2) continue;
    if (ahead + 2 * aside < least) [least, best] = [ahead + 2 * aside, index];
  }
  return best;
}

function useWidth(frame: { readonly current: SVGSVGElement | null }): number {
  const [width, setWidth] = useState(640);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined && entry.contentRect.width > 0) setWidth(entry.contentRect.width);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [frame]);
  return width;
}

/** Pans with the pointer; a click on a point is still a click. */
function useDrag(box: MapBox, unit: number, setBox: (box: MapBox) => void) {
  const from = useRef<{ x: number; y: number; box: MapBox } | undefined>(undefined);
  return {
    onPointerDown(event: PointerEvent): void {
      if (event.button === 0) from.current = { x: event.clientX, y: event.clientY, box };
    },
    onPointerMove(event: PointerEvent): void {
      const start = from.current;
      if (start === undefined || event.buttons === 0) return;
      const [dx, dy] = [event.clientX - start.x, event.clientY - start.y];
      if (Math.abs(dx) + Math.abs(dy) > 4)
        setBox(clampBox({ ...start.box, x: start.box.x - dx * unit, y: start.box.y - dy * unit }));
    },
    onPointerUp(): void {
      from.current = undefined;
    },
  };
}

// prettier-ignore
const abbreviations: Readonly<Record<string, string>> = {
  Alabama: 'AL', Alaska: 'AK', Arizona: 'AZ', Arkansas: 'AR', California: 'CA', Colorado: 'CO', Connecticut: 'CT', Delaware: 'DE',
  Florida: 'FL', Georgia: 'GA', Hawaii: 'HI', Idaho: 'ID', Illinois: 'IL', Indiana: 'IN', Iowa: 'IA', Kansas: 'KS', Kentucky: 'KY',
  Louisiana: 'LA', Maine: 'ME', Maryland: 'MD', Massachusetts: 'MA', Michigan: 'MI', Minnesota: 'MN', Mississippi: 'MS', Missouri: 'MO',
  Montana: 'MT', Nebraska: 'NE', Nevada: 'NV', 'New Hampshire': 'NH', 'New Jersey': 'NJ', 'New Mexico': 'NM', 'New York': 'NY',
  'North Carolina': 'NC', 'North Dakota': 'ND', Ohio: 'OH', Oklahoma: 'OK', Oregon: 'OR', Pennsylvania: 'PA', 'Rhode Island': 'RI',
  'South Carolina': 'SC', 'South Dakota': 'SD', Tennessee: 'TN', Texas: 'TX', Utah: 'UT', Vermont: 'VT', Virginia: 'VA',
  Washington: 'WA', 'West Virginia': 'WV', Wisconsin: 'WI', Wyoming: 'WY',
};
