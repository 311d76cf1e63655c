/** What a provider record is: one table of its fields, and the types that follow from it. */
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
