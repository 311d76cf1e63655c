import type { MimeEntity } from '../mime/index.ts';
import type { FieldBlock } from './report-fields.ts';

/** What the two readers work on. */
export interface ReportSource {
  readonly message: MimeEntity;
  readonly reporter: string | undefined;
  readonly blocks: readonly FieldBlock[];
}
