import { lazy, Suspense, type ReactNode } from 'react';
import type { ChartProps } from './chart-drawing.tsx';

// The drawing library loads when a chart is first shown.
const Drawing = lazy(async () => ({ default: (await import('./chart-drawing.tsx')).ChartDrawing }));

/** Lines over time. A table contains the same data for screen readers. */
export function Chart(props: ChartProps): ReactNode {
  const last = props.series.map(({ name, values }) => `${name} ${props.format(values.at(-1) ?? null)}`);
  return (
    <figure className="chart">
      <figcaption>
        <span className="chart-title">{props.title}</span>
        <span className="chart-legend">
          {props.series.map(({ name, color, values }) => (
            <span key={name} data-series={color}>
              <i aria-hidden="true" /> {name} <b>{props.format(values.at(-1) ?? null)}</b>
            </span>
          ))}
        </span>
      </figcaption>
      <div className="chart-area" role="img" aria-label={`${props.title}. Latest: ${last.join(', ')}.`}>
        <Suspense fallback={null}>
          <Drawing {...props} />
        </Suspense>
      </div>
    </figure>
  );
}
