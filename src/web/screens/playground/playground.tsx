import type { ReactNode } from 'react';
import { Screen } from '../../components/screen.tsx';
import { LoadingState } from '../../components/states.tsx';

export function PlaygroundScreen(): ReactNode {
  return (
    <Screen title="Playground">
      <LoadingState />
    </Screen>
  );
}
