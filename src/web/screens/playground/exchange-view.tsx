import type { ReactNode } from 'react';
import type { WireEvent } from '../../../app/console/contract/index.ts';

type Lane = WireEvent['from'];

/** From left to right. The HISP that never answers takes the partner's lane. */
const order: readonly Lane[] = ['client', 'this HISP', 'DNS', 'partner HISP', 'silent HISP', 'webhook'];

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

/** The exchange as a sequence diagram: an ordered list whose arrows are drawn between lanes. */
export function ExchangeView({ events, isRunning }: ExchangeViewProps): ReactNode {
  const used = new Set<Lane>(['client', 'this HISP', 'DNS', 'webhook']);
  for (const { from, to } of events) used.add(from).add(to);
  if (!used.has('silent HISP')) used.add('partner HISP');
  const lanes = order.filter((lane) => used.has(lane));
  const startedAt = events[0] === undefined ? 0 : Date.parse(events[0].at);
  const columns = { gridTemplateColumns: `repeat(${lanes.length}, 1fr)` };
  return (
    <div className="exchange">
      <div className="exchange-heads" aria-hidden="true">
        <div style={columns}>
          {lanes.map((lane) => (
            <span key={lane}>{lane}</span>
          ))}
        </div>
      </div>
      <ol className="exchange-steps" aria-busy={isRunning}>
        {events.map((event) => (
          <Step key={event.id} event={event} lanes={lanes} afterMs={Date.parse(event.at) - startedAt} />
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
  readonly lanes: readonly Lane[];
  readonly afterMs: number;
}

function Step({ event, lanes, afterMs }: StepProps): ReactNode {
  const from = lanes.indexOf(event.from);
  const to = lanes.indexOf(event.to);
  const [left, right] = [Math.min(from, to), Math.max(from, to)];
  const direction = from === to ? 'self' : from < to ? 'right' : 'left';
  // Arrows run from the middle of one lane to the middle of another.
  const middle = (lane: number): number => ((lane + 0.5) / lanes.length) * 100;
  return (
    <li className="exchange-step" data-kind={event.kind} data-tone={event.level}>
      <time dateTime={event.at} title={event.at}>
        {formatAfter(Math.max(0, afterMs))}
      </time>
      <div
        className="exchange-lanes"
        aria-hidden="true"
        style={{ gridTemplateColumns: `repeat(${lanes.length}, 1fr)` }}
      >
        {lanes.map((lane) => (
          <i key={lane} />
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
