import type { ReactNode } from 'react';

export function EnrolScreen(): ReactNode {
  return <main className="gate" />;
}
