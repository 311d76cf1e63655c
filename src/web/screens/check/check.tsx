import type { ReactNode } from 'react';
import { Screen } from '../../components/screen.tsx';
import { LoadingState } from '../../components/states.tsx';

export function CheckScreen(): ReactNode {
  return (
    <Screen title="Check an address">
      <LoadingState />
    </Screen>
  );
}
