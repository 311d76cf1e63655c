/** One answered query, ready to be sent. */
export interface DirectoryAnswer {
  /** UTF-8 JSON text (Directory spec: Response envelope; for FHIR a resource). */
  readonly json: Uint8Array;
}

/** An answer with the counts for quota and audit. */
export interface WrittenAnswer extends DirectoryAnswer {
  readonly totalCount: number;
  /** Records shown. */
  readonly count: number;
}
