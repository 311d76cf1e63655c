import type { ReactNode } from 'react';
import { Screen } from '../../components/screen.tsx';
import { LoadingState } from '../../components/states.tsx';

export function WebhooksScreen(): ReactNode {
  return (
    <Screen title="Webhooks">
      <LoadingState />
    </Screen>
  );
}
