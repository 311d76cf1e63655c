import type { ReactNode } from 'react';
import { Screen } from '../../components/screen.tsx';
import { LoadingState } from '../../components/states.tsx';

export function QueueScreen(): ReactNode {
  return (
    <Screen title="Queue">
      <LoadingState />
    </Screen>
  );
}
