import type { ReactNode } from 'react';
import { Screen } from '../../components/screen.tsx';
import { LoadingState } from '../../components/states.tsx';

export function MessagesScreen(): ReactNode {
  return (
    <Screen title="Messages">
      <LoadingState />
    </Screen>
  );
}
