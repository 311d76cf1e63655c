import type { Closable } from '../../../../core/index.ts';
import { IdTable, openScratch, PairTable, TextStore } from './scratch.ts';

/**
 * Data of a release that is kept until its records are made: ids and texts in a scratch database, numbers in
 * typed arrays. Memory grows with the number of Direct addresses and of the resources that they refer to
 * (some 100 bytes each), not with the size of the release.
 *
 * Columns hold a number plus one, so that 0 stands for none.
 */
export interface Staging extends Closable {
  readonly texts: TextStore;
  /** By the endpoint's id. */
  readonly endpoints: IdTable;
  /** The address of an endpoint; several endpoints may carry the same one. */
  readonly addressOfEndpoint: Column;
  readonly addresses: {
    /** By lower-cased Direct address. */
    readonly table: IdTable;
    /** Place of the Direct address in `texts`. */
    readonly text: Column;
    /** Line of the first endpoint that has it. */
    readonly line: Column;
    readonly managingOrganization: Column;
    /** The organization whose `endpoint` names it. */
    readonly namingOrganization: Column;
    readonly namingLocation: Column;
    /** The link path of its records (`link-paths.ts`). */
    readonly paths: Column;
    /** 1 once a record of a person is made of it. */
    readonly hasPerson: Column;
  };
  /** Data from roles about an address and a practitioner. */
  readonly links: {
    /** Address and practitioner plus one. */
    readonly table: PairTable;
    readonly address: Column;
    readonly organization: Column;
    readonly location: Column;
    /** Place of telephone and specialty in `texts`. */
    readonly text: Column;
    /** Number of values of the role that supplied the other columns. */
    readonly weight: Column;
    /** The next link of the same practitioner. */
    readonly next: Column;
  };
  readonly practitioners: { readonly table: IdTable; readonly firstLink: Column };
  /**
   * Organizations that are named; `text` is 0 until theirs is read, and stays so for those that are not to be
   * used.
   */
  readonly organizations: { readonly table: IdTable; readonly text: Column };
  readonly locations: { readonly table: IdTable; readonly text: Column };
}

/** The scratch file is made in `folder`, which must exist. */
export function createStaging(folder: string): Staging {
  const scratch = openScratch(folder);
  return {
    texts: new TextStore(scratch),
    endpoints: new IdTable(scratch, 'endpoints'),
    addressOfEndpoint: new Column(),
    addresses: {
      table: new IdTable(scratch, 'addresses'),
      text: new Column(),
      line: new Column(),
      managingOrganization: new Column(),
      namingOrganization: new Column(),
      namingLocation: new Column(),
      paths: new Column(),
      hasPerson: new Column(),
    },
    links: {
      table: new PairTable(scratch, 'links'),
      address: new Column(),
      organization: new Column(),
      location: new Column(),
      text: new Column(),
      weight: new Column(),
      next: new Column(),
    },
    practitioners: { table: new IdTable(scratch, 'practitioners'), firstLink: new Column() },
    organizations: { table: new IdTable(scratch, 'organizations'), text: new Column() },
    locations: { table: new IdTable(scratch, 'locations'), text: new Column() },
    async close() {
      scratch.close();
    },
  };
}

/** The number of a reference among the wanted ids, plus one; 0 for no reference. */
export function wantId(table: IdTable, id: string): number {
  return id === '' ? 0 : table.add(id) + 1;
}

/** A column of numbers below 2^32 that grows as it is written; a place never written reads 0. */
export class Column {
  #values = new Uint32Array(1024);

  get(index: number): number {
    return this.#values[index] ?? 0;
  }

  set(index: number, value: number): void {
    if (index >= this.#values.length) this.#grow(index);
    this.#values[index] = value;
  }

  #grow(index: number): void {
    const bigger = new Uint32Array(Math.max(index + 1, Math.ceil(this.#values.length * 1.5)));
    bigger.set(this.#values);
    this.#values = bigger;
  }
}
