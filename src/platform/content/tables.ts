export interface ContentTables {
  /** A content that is stored in chunks. */
  content: {
    id: string;
    /** Time from which its chunks may be deleted; null while it has an owner. */
    sweep_at: number | null;
  };
  content_part: {
    content_id: string;
    /** From 0. */
    position: number;
    sealed: Uint8Array;
  };
}
