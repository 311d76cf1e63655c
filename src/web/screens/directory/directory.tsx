import type { ReactNode } from 'react';
import { Screen } from '../../components/screen.tsx';
import { LoadingState } from '../../components/states.tsx';

export function DirectoryScreen(): ReactNode {
  return (
    <Screen title="Directory">
      <LoadingState />
    </Screen>
  );
}
