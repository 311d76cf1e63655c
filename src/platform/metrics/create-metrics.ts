import { createRequire } from 'node:module';
import type * as Prometheus from 'prom-client';

/** Loaded by what serves; a command starts sooner without it. */
const loadPrometheus = (): typeof Prometheus =>
  createRequire(import.meta.url)('prom-client') as typeof Prometheus;

type Labels = Readonly<Record<string, string | number>>;

export interface LabelledValue {
  readonly labels: Labels;
  readonly value: number;
}

export interface MetricSpec<Label extends string = string> {
  /** `openhisp_<what>_<unit>`; counters end in `_total`. */
  readonly name: string;
  readonly help: string;
  /** Few and of few values: never addresses, identifiers or anything from outside. */
  readonly labels?: readonly Label[];
}

/** Counters, gauges and histograms of one process, in the text format that Prometheus reads. */
export interface Metrics {
  counter(spec: MetricSpec): { add(labels?: Labels, amount?: number): void };
  gauge(spec: MetricSpec): { set(value: number, labels?: Labels): void };
  /** A gauge whose value is asked for when the metrics are read. */
  measured(spec: MetricSpec, read: () => number | Promise<number>): void;
  /** The same with labels; combinations that are not among the values are no longer published. */
  measuredBy(spec: MetricSpec, read: () => Promise<readonly LabelledValue[]>): void;
  histogram(spec: MetricSpec & { readonly buckets: readonly number[] }): {
    observe(value: number, labels?: Labels): void;
  };
  readonly contentType: string;
  text(): Promise<string>;
}

export function createMetrics(options: { readonly withProcess?: boolean } = {}): Metrics {
  const { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } = loadPrometheus();
  const registry = new Registry();
  // At its usual 10 ms the monitor alone was a quarter of what an idle process costs.
  if (options.withProcess === true)
    collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 50 });
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    counter(spec) {
      const counter = new Counter(forProm(spec, registry));
      return { add: (labels = {}, amount = 1) => counter.inc({ ...labels }, amount) };
    },
    gauge(spec) {
      const gauge = new Gauge(forProm(spec, registry));
      return { set: (value, labels = {}) => gauge.set({ ...labels }, value) };
    },
    measured(spec, read) {
      new Gauge({
        ...forProm(spec, registry),
        async collect() {
          this.set(await read());
        },
      });
    },
    measuredBy(spec, read) {
      new Gauge({
        ...forProm(spec, registry),
        async collect() {
          const values = await read();
          this.reset();
          for (const { labels, value } of values) this.set({ ...labels }, value);
        },
      });
    },
    histogram(spec) {
      const histogram = new Histogram({ ...forProm(spec, registry), buckets: [...spec.buckets] });
      return { observe: (value, labels = {}) => histogram.observe({ ...labels }, value) };
    },
  };
}

function forProm(
  spec: MetricSpec,
  registry: Prometheus.Registry,
): { name: string; help: string; labelNames: string[]; registers: Prometheus.Registry[] } {
  return { name: spec.name, help: spec.help, labelNames: [...(spec.labels ?? [])], registers: [registry] };
}
