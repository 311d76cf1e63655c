import type { ReactNode } from 'react';
import { Screen } from '../../components/screen.tsx';
import { LoadingState } from '../../components/states.tsx';

export function SessionsScreen(): ReactNode {
  return (
    <Screen title="Sessions">
      <LoadingState />
    </Screen>
  );
}
