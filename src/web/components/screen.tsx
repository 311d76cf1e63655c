/**
 * Parts of which screens are made: tables, dialogs, fields, states, times. None knows the admin API's
 * routes.
 * Used by any folder of `web`.
 * Begin with this frame, then `states.tsx`.
 */
import { useEffect, type ReactNode } from 'react';
import { Link } from 'wouter';
import { breakable } from './address.tsx';
import { Icon } from './icon.tsx';

/** The frame of a screen: title, summary and actions. */
export function Screen({
  title,
  heading,
  lead,
  actions,
  up,
  children,
}: {
  /** The title of the browser tab. */
  readonly title: string;
  /** The heading above the content; `title` if absent. */
  readonly heading?: ReactNode;
  readonly lead?: ReactNode;
  readonly actions?: ReactNode;
  /** The parent list. */
  readonly up?: { readonly href: string; readonly name: string };
  readonly children: ReactNode;
}): ReactNode {
  useEffect(() => {
    document.title = `${title} · openhisp`;
  }, [title]);
  return (
    <div className="screen">
      <div className="screen-head">
        <div>
          {up !== undefined && (
            <Link href={up.href} className="up" data-up="">
              <Icon name="back" /> {up.name}
            </Link>
          )}
          <h1>{heading ?? breakable(title)}</h1>
          {lead !== undefined && <div className="lead">{lead}</div>}
        </div>
        {actions !== undefined && <div className="actions">{actions}</div>}
      </div>
      {children}
    </div>
  );
}

/** A section of a screen with a heading. */
export function Section({
  title,
  note,
  actions,
  children,
}: {
  readonly title: string;
  readonly note?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <section className="section" aria-label={title}>
      <div className="section-head">
        <h2>{title}</h2>
        {note !== undefined && <span className="section-note">{note}</span>}
        {actions !== undefined && <div className="actions">{actions}</div>}
      </div>
      {children}
    </section>
  );
}

/** Names and values, one below the other. */
export function Facts({
  facts,
}: {
  readonly facts: readonly (readonly [name: string, value: ReactNode])[];
}): ReactNode {
  return (
    <dl className="facts">
      {facts
        .filter(([, value]) => value !== undefined && value !== null && value !== false && value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** Views of one screen as links, each with its own URL. */
export function Tabs({
  label,
  tabs,
}: {
  readonly label: string;
  readonly tabs: readonly {
    readonly name: string;
    readonly href: string;
    readonly isCurrent: boolean;
    readonly count?: string | undefined;
  }[];
}): ReactNode {
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map(({ name, href, isCurrent, count }) => (
        <Link key={href} href={href} aria-current={isCurrent ? 'page' : undefined}>
          {name}
          {count !== undefined && <span className="count">{count}</span>}
        </Link>
      ))}
    </nav>
  );
}
