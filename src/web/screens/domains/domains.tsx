import type { ReactNode } from 'react';
import { Screen } from '../../components/screen.tsx';
import { LoadingState } from '../../components/states.tsx';

export function DomainsScreen(): ReactNode {
  return (
    <Screen title="Domains and trust">
      <LoadingState />
    </Screen>
  );
}
