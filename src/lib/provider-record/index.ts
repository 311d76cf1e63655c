/** The provider record: one table of its fields, and the types derived from it. */
export {
  providerFields,
  shownFields,
  textFields,
  type FilterMatch,
  type ProviderField,
  type ProviderRecord,
  type TextField,
  type WireName,
} from './fields.ts';
