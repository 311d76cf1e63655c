import { Component, type ReactNode } from 'react';
import { ErrorState } from '../components/states.tsx';

interface Props {
  readonly children: ReactNode;
}

interface State {
  readonly error: Error | undefined;
}

const chunkText =
  'A part of the console was not loaded: the server cannot be reached, or the console was updated while this page was open.';

/**
 * Shows an error instead of an empty page. A chunk that a newer build has replaced is loaded by reloading the
 * page.
 */
export class ErrorBoundary extends Component<Props, State> {
  override state: State = { error: undefined };

  static getDerivedStateFromError(error: Error): State {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    const isChunk = /dynamically imported module|module script/i.test(error.message);
    return (
      <ErrorState
        error={isChunk ? new Error(chunkText) : error}
        retryLabel="Reload the page"
        onRetry={() => location.reload()}
      />
    );
  }
}
