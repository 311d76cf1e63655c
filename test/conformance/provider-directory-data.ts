/** A small directory in which every sentence of the specification can be told true from false. */

type Row = Readonly<Record<string, string | number>>;

const boston = { org_addr_1: '55 Fruit St', org_city: 'Boston', org_state: 'MA', org_zip: '02114-1234', lat: 42.3611, lng: -71.0689 };
const cambridge = { org_addr_1: '1493 Cambridge Street', org_city: 'Cambridge', org_state: 'MA', org_zip: '02139', lat: 42.3745, lng: -71.1043 };
const worcester = { org_addr_1: '55 Lake Ave', org_city: 'Worcester', org_state: 'MA', org_zip: '01655', lat: 42.2778, lng: -71.7617 };
const chicago = { org_addr_1: '251 E Huron St', org_city: 'Chicago', org_state: 'IL', org_zip: '60611', lat: 41.8949, lng: -87.6216 };
const springfieldIl = { org_addr_1: '800 E Carpenter St', org_city: 'Springfield', org_state: 'IL', org_zip: '62769', lat: 39.8087, lng: -89.6446 };
const springfieldMa = { org_addr_1: '759 Chestnut St', org_city: 'Springfield', org_state: 'MA', org_zip: '01199', lat: 42.1215, lng: -72.6033 };
const honolulu = { org_addr_1: '1301 Punchbowl St', org_city: 'Honolulu', org_state: 'HI', org_zip: '96813', lat: 21.3069, lng: -157.8583 };

const cardiology = '2.16.840.1.113883.6.101:NUCC:207RC0000X:Cardiovascular Disease';

/** In the order in which they are loaded, which gives the ids 1, 2, 3, … */
export const sampleRows: readonly Row[] = [
  {
    prov_npi: '1999999992', prov_first_name: 'Ana', prov_mid_name: 'Q', prov_last_name: 'Smith', prov_suffix: 'MD, PhD',
    serv_direct_addr: 'Ana.Smith@direct.north.example', org_name: 'Northern Heart Clinic', prov_spec_text: cardiology,
    org_phone: '(617) 555-0101', ...boston,
  },
  {
    prov_npi: '1000000004', prov_first_name: 'Anabel', prov_mid_name: 'Quincy', prov_last_name: 'Smithson', prov_suffix: 'DO',
    serv_direct_addr: 'anabel@direct.south.example', org_name: 'South Clinic Group', prov_spec_text: 'Family Medicine',
    org_phone: '617-555-0102', ...cambridge,
  },
  {
    prov_npi: '1500000009', prov_first_name: 'Johanna', prov_mid_name: '', prov_last_name: 'Goldsmith', prov_suffix: '',
    serv_direct_addr: 'j.goldsmith@direct.north.example', org_name: 'Lake Hospital', prov_spec_text: 'Dermatology',
    org_phone: '', ...worcester,
  },
  {
    prov_npi: '1500000009', prov_first_name: 'Johanna', prov_mid_name: '', prov_last_name: 'Goldsmith', prov_suffix: '',
    serv_direct_addr: 'johanna@direct.lake.example', org_name: 'Lake Hospital Annex', prov_spec_text: 'Dermatology',
    org_phone: '5085550103', ...worcester,
  },
  {
    prov_npi: '', prov_last_name: '', serv_direct_addr: 'records@direct.chicago.example', org_name: 'Chicago Medical Records',
    prov_spec_text: '', org_phone: '312 555 0104', ...chicago,
  },
  {
    prov_npi: '1200000008', prov_first_name: 'José', prov_mid_name: 'M', prov_last_name: 'Núñez', prov_suffix: 'Jr., MD',
    serv_direct_addr: 'jose.nunez@direct.prairie.example', org_name: "St. John's Hospital", prov_spec_text: 'Interventional Cardiology',
    org_phone: '(217) 555-0105', ...springfieldIl,
  },
  {
    prov_npi: '1300000005', prov_first_name: 'Mary', prov_mid_name: 'Ann', prov_last_name: "O'Brien", prov_suffix: 'NP',
    serv_direct_addr: 'mob_100%@direct.valley.example', org_name: 'Valley Clinic', prov_spec_text: 'Family Medicine',
    org_phone: '413-555-0106', ...springfieldMa,
  },
  {
    prov_npi: '1400000002', prov_first_name: 'Kai', prov_mid_name: '', prov_last_name: 'Akana', prov_suffix: 'MD',
    serv_direct_addr: 'kai@direct.island.example', org_name: 'Island Heart Center', prov_spec_text: cardiology,
    org_phone: '808-555-0107', ...honolulu,
  },
  {
    prov_npi: '1600000006', prov_first_name: 'Lee', prov_mid_name: '', prov_last_name: 'Nowhere', prov_suffix: '',
    serv_direct_addr: 'lee@direct.nowhere.example', org_name: 'Office Without A Place', prov_spec_text: '', org_addr_1: '',
    org_city: '', org_state: '', org_zip: '', org_phone: '',
  },
];
