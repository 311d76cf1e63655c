import { useEffect, useState, type ReactNode } from 'react';
import type { Level } from '../../app/console/contract/index.ts';
import { ApiError } from '../api/client.ts';

/** An empty list: its meaning, and the next step. */
export function EmptyState({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ReactNode;
}): ReactNode {
  return (
    <div className="blank">
      <p className="blank-title">{title}</p>
      {children !== undefined && <div className="blank-text">{children}</div>}
    </div>
  );
}

const slowMs = 10_000;

/**
 * Placeholder lines, shown after a short delay so that a fast answer shows none; words if there is no answer
 * after ten seconds.
 */
export function LoadingState({
  label = 'Loading',
  lines = 6,
}: {
  readonly label?: string;
  readonly lines?: number;
}): ReactNode {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), slowMs);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className="loading" role="status" aria-label={isSlow ? undefined : label}>
      {isSlow && <p>{label}. The server is slow or does not respond.</p>}
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} className="loading-line" />
      ))}
    </div>
  );
}

/** An error message with a retry button. */
export function ErrorState({
  error,
  onRetry,
  retryLabel = 'Try again',
}: {
  readonly error: Error;
  readonly onRetry?: () => void;
  readonly retryLabel?: string;
}): ReactNode {
  const requestId = error instanceof ApiError ? error.requestId : undefined;
  return (
    <div className="blank" role="alert">
      <p className="blank-title">
        <StateMark tone="failed">{titleOf(error)}</StateMark>
      </p>
      <p className="blank-text">{error.message}</p>
      {requestId !== undefined && <p className="faint">Request {requestId}</p>}
      {onRetry !== undefined && (
        <button type="button" onClick={onRetry}>
          {retryLabel}
        </button>
      )}
    </div>
  );
}

function titleOf(error: Error): string {
  if (!(error instanceof ApiError)) return 'Something failed';
  if (error.status === 0) return 'No connection';
  if (error.status === 403) return 'Not allowed';
  if (error.status === 404) return 'Not found';
  if (error.status >= 400 && error.status < 500) return 'Refused';
  return 'Something failed';
}

/** A state as word, shape and color. */
export function StateMark({
  tone,
  children,
}: {
  readonly tone: Level;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <span className="state" data-tone={tone}>
      <StateShape tone={tone} />
      <span>{children}</span>
    </span>
  );
}

/** The shape of a state without its word, for places that show the word elsewhere. */
export function StateShape({ tone }: { readonly tone: Level }): ReactNode {
  return (
    <svg
      className="state-shape"
      data-tone={tone}
      viewBox="0 0 12 12"
      width="11"
      height="11"
      aria-hidden="true"
    >
      {tone === 'ok' && <circle cx="6" cy="6" r="5" className="fill" />}
      {tone === 'waiting' && <circle cx="6" cy="6" r="4.2" className="stroke" />}
      {tone === 'warning' && <path d="M6 .8 11.6 11H.4z" className="fill" />}
      {tone === 'failed' && (
        <>
          <rect x=".8" y=".8" width="10.4" height="10.4" rx="1.6" className="fill" />
          <path d="M4 4l4 4M8 4l-4 4" className="cross" />
        </>
      )}
      {tone === 'none' && <path d="M2 6h8" className="stroke" />}
    </svg>
  );
}
