/** The provider record: one table of its fields, and the types derived from it. */
export {
  providerFields,
  searchFields,
  shownFields,
  textFields,
  type FilterMatch,
  type ProviderField,
  type ProviderRecord,
  type SearchField,
  type TextField,
  type WireName,
} from './fields.ts';
export {
  forEachOtherName,
  formatOtherNames,
  otherNameKinds,
  readOtherNames,
  type OtherName,
  type OtherNameKind,
} from './other-names.ts';
