import type { ReactNode } from 'react';
import { Screen } from '../../components/screen.tsx';
import { LoadingState } from '../../components/states.tsx';

export function NowScreen(): ReactNode {
  return (
    <Screen title="Now">
      <LoadingState />
    </Screen>
  );
}
