import type { ReactNode } from 'react';
import type { WireEvent } from '../../../app/console/contract/index.ts';

type Host = WireEvent['from'];

/** From left to right. The HISP that never answers takes the partner's column. */
const order: readonly Host[] = ['client', 'this HISP', 'DNS', 'partner HISP', 'silent HISP', 'webhook'];

const kinds: Readonly<Record<WireEvent['kind'], string>> = {
  state: 'state',
  dns: 'DNS',
  smtp: 'SMTP',
  mdn: 'MDN',
  webhook: 'HTTP',
};

interface ExchangeViewProps {
  /** In chronological order. */
  readonly events: readonly WireEvent[];
  /** True while more events may arrive. */
  readonly isRunning: boolean;
}

/** The exchange as a sequence diagram: an ordered list whose arrows are drawn between the columns. */
export function ExchangeView({ events, isRunning }: ExchangeViewProps): ReactNode {
  const used = new Set<Host>(['client', 'this HISP', 'DNS', 'webhook']);
  for (const { from, to } of events) used.add(from).add(to);
  if (!used.has('silent HISP')) used.add('partner HISP');
  const hosts = order.filter((host) => used.has(host));
  const startedAt = events[0] === undefined ? 0 : Date.parse(events[0].at);
  const columns = { gridTemplateColumns: `repeat(${hosts.length}, 1fr)` };
  return (
    <div className="exchange">
      <div className="exchange-heads" aria-hidden="true">
        <div style={columns}>
          {hosts.map((host) => (
            <span key={host}>{host}</span>
          ))}
        </div>
      </div>
      <ol className="exchange-steps" aria-busy={isRunning}>
        {events.map((event) => (
          <Step key={event.id} event={event} hosts={hosts} afterMs={Date.parse(event.at) - startedAt} />
        ))}
        {isRunning && (
          <li className="exchange-more faint">
            <span>waiting for more</span>
          </li>
        )}
      </ol>
    </div>
  );
}

interface StepProps {
  readonly event: WireEvent;
  readonly hosts: readonly Host[];
  readonly afterMs: number;
}

function Step({ event, hosts, afterMs }: StepProps): ReactNode {
  const from = hosts.indexOf(event.from);
  const to = hosts.indexOf(event.to);
  const [left, right] = [Math.min(from, to), Math.max(from, to)];
  const direction = from === to ? 'self' : from < to ? 'right' : 'left';
  // Arrows run from the middle of one column to the middle of another.
  const middle = (column: number): number => ((column + 0.5) / hosts.length) * 100;
  return (
    <li className="exchange-step" data-kind={event.kind} data-tone={event.level}>
      <time dateTime={event.at} title={event.at}>
        {formatAfter(Math.max(0, afterMs))}
      </time>
      <div
        className="exchange-columns"
        aria-hidden="true"
        style={{ gridTemplateColumns: `repeat(${hosts.length}, 1fr)` }}
      >
        {hosts.map((host) => (
          <i key={host} />
        ))}
        <span
          className={`exchange-arrow is-${direction}`}
          style={{
            insetInlineStart: `${middle(left)}%`,
            inlineSize: direction === 'self' ? '0' : `${middle(right) - middle(left)}%`,
          }}
        />
      </div>
      <div className="exchange-text">
        <span className="exchange-way">
          {event.from}
          {direction === 'self' ? '' : ` → ${event.to}`}
        </span>
        <span className="exchange-kind">{kinds[event.kind]}</span>
        <span className="exchange-what">{event.text}</span>
      </div>
    </li>
  );
}

/** `+0 ms`, `+340 ms`, `+2.4 s`. */
function formatAfter(ms: number): string {
  return ms < 1000 ? `+${Math.round(ms)} ms` : `+${(ms / 1000).toFixed(1)} s`;
}
