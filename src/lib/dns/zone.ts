import { isWithin, nameKey, parentName } from './names.ts';
import type { DnsRecord } from './records.ts';

/** A zone for which this server is authoritative. */
export interface DnsZone {
  /** Its apex, for example `direct.example.org`. */
  readonly name: string;
  /**
   * All records at one name (in lower case, inside the zone), of every type. Empty when the name exists
   * without records, undefined when it does not exist. The apex must have one SOA record.
   */
  findRecords(name: string): readonly DnsRecord[] | undefined | Promise<readonly DnsRecord[] | undefined>;
}

/** A zone over a fixed list of records. Names above a record exist too, without records (RFC 8020 §2). */
export function createStaticZone(name: string, records: readonly DnsRecord[]): DnsZone {
  const apex = nameKey(name);
  const recordsByName = new Map<string, DnsRecord[]>([[apex, []]]);
  for (const record of records) {
    const key = nameKey(record.name);
    if (!isWithin(key, apex)) throw new TypeError(`A record of another zone than ${apex}`);
    recordsByName.set(key, [...(recordsByName.get(key) ?? []), record]);
    for (
      let above = parentName(key);
      isWithin(above, apex) && !recordsByName.has(above);
      above = parentName(above)
    ) {
      recordsByName.set(above, []);
    }
  }
  return { name: apex, findRecords: (key) => recordsByName.get(key) };
}
