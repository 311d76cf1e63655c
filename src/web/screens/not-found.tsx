import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { Screen } from '../components/screen.tsx';
import { EmptyState } from '../components/states.tsx';

export function NotFoundScreen(): ReactNode {
  return (
    <Screen title="Not found">
      <EmptyState title="This page does not exist, or your role does not include it.">
        <Link href="/">Go to Now</Link>
      </EmptyState>
    </Screen>
  );
}
