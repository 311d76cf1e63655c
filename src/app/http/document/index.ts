export { addDocument, type ExampleAddresses } from './add-document.ts';
