import type { ReactNode } from 'react';
import { Screen } from '../../components/screen.tsx';
import { LoadingState } from '../../components/states.tsx';

export function InboundScreen(): ReactNode {
  return (
    <Screen title="Inbound">
      <LoadingState />
    </Screen>
  );
}
