import { useMemo } from 'react';
import { describeSpan, makeScale, type KeySpan } from './key-spans.ts';

interface KeyBarsProps {
  readonly keys: readonly KeySpan[];
  readonly now: Date;
}

/**
 * Percent of the scale that the label `today` and half of another one take on each side where it is narrow.
 */
const nearToday = 12;

/**
 * The keys of a domain as bars on one scale of time, with today as a line. The text next to each bar has the
 * same data.
 */
export function KeyBars({ keys, now }: KeyBarsProps) {
  const scale = useMemo(() => makeScale(keys, now), [keys, now]);
  return (
    <div className="key-bars" role="list" aria-label="Keys with their validity">
      <div className="key-bars-axis" aria-hidden="true">
        {scale.ticks
          .filter(({ at }) => Math.abs(at - scale.today) > nearToday)
          .map((tick) => (
            <span key={tick.at} style={{ insetInlineStart: `${tick.at}%` }}>
              {tick.text}
            </span>
          ))}
        <span className="key-bars-today" style={{ insetInlineStart: `${scale.today}%` }}>
          today
        </span>
      </div>
      {keys.map((key) => {
        const span = describeSpan(key, now);
        const start = scale.place(key.notBefore);
        const end = scale.place(key.notAfter);
        return (
          <div className="key-bar" role="listitem" key={key.id} data-state={span.state}>
            <div className="key-bar-name">
              <span className="key-bar-owner">{key.owner}</span>
              <span className="key-bar-uses">{key.uses.join(', ')}</span>
            </div>
            <div className="key-bar-track" aria-hidden="true">
              <span
                className="key-bar-span"
                style={{ insetInlineStart: `${start}%`, inlineSize: `${Math.max(0.6, end - start)}%` }}
              />
              <span className="key-bar-now" style={{ insetInlineStart: `${scale.today}%` }} />
            </div>
            <div className="key-bar-words">{span.text}</div>
          </div>
        );
      })}
    </div>
  );
}
