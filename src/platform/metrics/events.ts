import type { Log } from '../../core/index.ts';
import type { Metrics } from './create-metrics.ts';

/** Something worth counting, defined once: its counter and its line in the log. */
export interface EventSpec<Label extends string = string> {
  /** Name of the counter, for example `openhisp_messages_sent_total`. */
  readonly counter: string;
  readonly help: string;
  readonly labels?: readonly Label[];
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly text: string;
}

export type EventTable = Readonly<Record<string, EventSpec>>;

/** Counts and logs one event. `labels` go to both, `fields` to the log alone. */
export type Emit<Table extends EventTable> = <Name extends keyof Table>(
  event: Name,
  labels: Readonly<Record<LabelOf<Table[Name]>, string>>,
  fields?: Readonly<Record<string, unknown>>,
) => void;

type LabelOf<Spec> = Spec extends { readonly labels: readonly (infer Label extends string)[] }
  ? Label
  : never;

/** Registers the counters of a module's event table and returns the function that counts and logs one. */
export function createEmit<const Table extends EventTable>(
  table: Table,
  deps: { metrics: Metrics; log: Log },
): Emit<Table> {
  const counters = new Map(
    Object.entries(table).map(([name, spec]) => [
      name,
      deps.metrics.counter({ name: spec.counter, help: spec.help, labels: spec.labels ?? [] }),
    ]),
  );
  return (event, labels, fields = {}) => {
    const spec = table[event];
    if (spec === undefined) throw new TypeError(`no event ${String(event)}`);
    counters.get(String(event))?.add(labels);
    deps.log[spec.level]({ event: String(event), ...labels, ...fields }, spec.text);
  };
}
