import type { MimeEntity } from '../mime/index.ts';
import type { FieldBlock } from './report-fields.ts';

/** The input of both readers. */
export interface ReportSource {
  readonly message: MimeEntity;
  readonly reporter: string | undefined;
  readonly blocks: readonly FieldBlock[];
}
