import type { ReactNode } from 'react';
import { Screen } from '../../components/screen.tsx';
import { LoadingState } from '../../components/states.tsx';

export function ClientsScreen(): ReactNode {
  return (
    <Screen title="Clients">
      <LoadingState />
    </Screen>
  );
}
