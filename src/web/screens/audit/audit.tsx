import type { ReactNode } from 'react';
import { Screen } from '../../components/screen.tsx';
import { LoadingState } from '../../components/states.tsx';

export function AuditScreen(): ReactNode {
  return (
    <Screen title="Audit">
      <LoadingState />
    </Screen>
  );
}
