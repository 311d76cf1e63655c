/**
 * The body of a send that was not parsed yet: of a large one the contents are decoded from its bytes, in a
 * thread if that takes long. The memory is given away.
 */
export class UnparsedJson {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

/** Contents of more than this are worked on in a thread; below, going there would cost more than the work. */
export const largeBytes = 1024 * 1024;
