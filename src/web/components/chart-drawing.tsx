import { useEffect, useRef, type ReactNode } from 'react';
import uPlot from 'uplot';

export interface Series {
  readonly name: string;
  /** A color token: `--series-NAME`. */
  readonly color: 'ok' | 'failed' | 'accent' | 'muted';
  readonly values: readonly (number | null)[];
}

export interface ChartProps {
  readonly title: string;
  /** Seconds since 1970. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number | null) => string;
  /** The times are days or months of UTC, so they have their names there. */
  readonly isUtc?: boolean;
}

const height = 120;

/**
 * The drawing alone. It is created once and then updated, so that the memory of an open page does not grow.
 */
export function ChartDrawing({ times, series, format, isUtc = false }: ChartProps): ReactNode {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const names = series.map(({ name, color }) => `${name}:${color}`).join();
  const latest = useRef({ times, series, format });

  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const draw = (): void => {
      plot.current?.destroy();
      plot.current = new uPlot(
        optionsFor(element, latest.current.series, isUtc, (value) => latest.current.format(value)),
        dataOf(latest.current),
        element,
      );
    };
    draw();
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    // Colors are read from the style sheet when drawing.
    const recolored = new MutationObserver(draw);
    recolored.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', draw);
    return () => {
      resized.disconnect();
      recolored.disconnect();
      scheme.removeEventListener('change', draw);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [names, isUtc]);

  useEffect(() => {
    latest.current = { times, series, format };
    plot.current?.setData(dataOf({ times, series }));
  }, [times, series, format]);

  return <div ref={place} className="chart-place" />;
}

function dataOf({ times, series }: Pick<ChartProps, 'times' | 'series'>): uPlot.AlignedData {
  return [[...times], ...series.map(({ values }) => [...values])];
}

function optionsFor(
  element: HTMLElement,
  series: readonly Series[],
  isUtc: boolean,
  format: (value: number | null) => string,
): uPlot.Options {
  const style = getComputedStyle(element);
  const token = (name: string): string => style.getPropertyValue(name).trim();
  const axis = {
    stroke: token('--muted'),
    font: `12px ${style.fontFamily}`,
    grid: { stroke: token('--line'), width: 1 },
    ticks: { show: false },
  };
  return {
    width: element.clientWidth,
    height,
    // Half of the last name fits: that of a month is wider than a time.
    padding: [8, isUtc ? 28 : 18, 0, 0],
    legend: { show: false },
    ...(isUtc && { tzDate: (at: number) => uPlot.tzDate(new Date(at * 1000), 'Etc/UTC') }),
    cursor: { y: false, points: { size: 6 } },
    scales: { y: { range: (_, __, max) => [0, Math.max(max * 1.1, 1)] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        space: 80,
        values: [
          [3600 * 24 * 28, '{MMM} {YYYY}', null, null, null, null, null, null, 1],
          [3600 * 24, '{MMM} {D}', null, null, null, null, null, null, 1],
          [60, '{HH}:{mm}', null, null, null, null, null, null, 1],
          [1, '{HH}:{mm}:{ss}', null, null, null, null, null, null, 1],
        ],
      },
      { ...axis, size: 48, space: 32, values: (_, ticks) => ticks.map((tick) => format(tick)) },
    ],
    series: [
      {},
      ...series.map(({ name, color }) => ({
        label: name,
        stroke: token(`--series-${color}`),
        width: 1.5,
        points: { show: true, size: 5, filter: findLone },
        fill: color === 'accent' ? token('--accent-wash') : undefined,
      })),
    ],
  } as uPlot.Options;
}

/** A single value between gaps has no line, so it is drawn as a point. */
function findLone(plot: uPlot, index: number): number[] | null {
  const values = plot.data[index] ?? [];
  const isGap = (at: number): boolean => (values[at] ?? null) === null;
  return [...values.keys()].filter((at) => !isGap(at) && isGap(at - 1) && isGap(at + 1));
}
