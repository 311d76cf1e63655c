import { createHash } from 'node:crypto';
import { cleanFileName } from '../mime/index.ts';
import type { DocumentEntry, XdmMetadata } from './entries.ts';
import { mediaTypeOfName } from './file-names.ts';
import { defaultXdmLimits, type XdmLimits } from './limits.ts';
import { readMetadata } from './read-metadata.ts';
import type { XdmDamage, XdmDocument, XdmFault, XdmPackage, XdmWarning } from './xdm-package.ts';
import { readArchive, type ZipEntry } from './zip-reader.ts';

/** A directory with documents and, mostly, a METADATA.XML. */
interface Subset {
  readonly path: string;
  readonly metadata: ZipEntry | undefined;
  readonly files: readonly ZipEntry[];
}

/**
 * Reads a package safely and forgivingly (XDM-11, AS-81): lower-case names, a directory around it, the layout
 * of the Java reference implementation that lacks a slash, missing or broken index, read-me and metadata,
 * files too many. A document whose metadata are lost is delivered nevertheless, and so is what is whole in a
 * damaged archive. Throws XdmError only for archives that cannot or must not be unpacked.
 */
export async function readXdm(zip: Uint8Array, limits: Partial<XdmLimits> = {}): Promise<XdmPackage> {
  const allLimits = { ...defaultXdmLimits, ...limits };
  const warnings = new Set<XdmWarning>();
  const archive = await readArchive(zip, allLimits);
  const entries = archive.entries
    .map((entry) => repairName(entry, warnings))
    .filter((entry) => !isJunk(entry.name));
  for (const name of ['INDEX.HTM', 'README.TXT']) {
    if (!entries.some((entry) => baseName(entry.name).toUpperCase() === name))
      warnings.add(name === 'INDEX.HTM' ? 'index-missing' : 'readme-missing');
  }
  // All subsets share the limit: reading XML is the largest part of the work.
  let metadataLeft = allLimits.maxMetadataBytes;
  const read = findSubsets(entries).map((subset) => {
    const size = subset.metadata?.content.length ?? 0;
    const fits = size <= metadataLeft;
    if (fits) metadataLeft -= size;
    return readSubset(subset, fits, { limits: allLimits, warnings });
  });
  const inPlace = read.flatMap((subset) => subset.documents);
  const documents = [...inPlace, ...strayDocuments(entries, inPlace, warnings)];
  const damage = [
    ...(archive.isDamaged ? [toLost('archive-damaged', '', undefined)] : []),
    ...listChanged(entries, documents),
    ...read.flatMap((subset) => subset.damage),
    ...listUnread(entries, read),
  ];
  for (const { fault } of damage) warnings.add(fault);
  const positions = new Map(documents.map(({ file }, index) => [file, index]));
  return {
    documents: documents.map(({ document }) => document),
    submissionSets: read.flatMap((subset) => subset.metadata?.submissionSet ?? []),
    metadataLevel: levelOf(read.flatMap((subset) => subset.metadata ?? [])),
    warnings: [...warnings].toSorted(),
    damage: damage
      .map(({ file, ...found }) => ({ ...found, position: file && positions.get(file) }))
      .toSorted((a, b) => (a.position ?? Infinity) - (b.position ?? Infinity) || 0)
      .slice(0, allLimits.maxEntries),
  };
}

interface PlacedDocument {
  readonly file: ZipEntry;
  readonly document: XdmDocument;
}

/** Damage before the documents have positions. */
interface FoundDamage extends Omit<XdmDamage, 'position'> {
  readonly file: ZipEntry | undefined;
}

/** The files whose content has another checksum than the archive says. */
function listChanged(entries: readonly ZipEntry[], documents: readonly PlacedDocument[]): FoundDamage[] {
  const changed = entries.filter(({ isIntact }) => !isIntact);
  if (changed.length === 0) return [];
  const byFile = new Map(documents.map(({ file, document }) => [file, document]));
  return changed.map((file) => toDamage('checksum-mismatch', file, byFile.get(file)?.entry));
}

/** The files that could not be unpacked and are named by no metadata, which would tell more of them. */
function listUnread(entries: readonly ZipEntry[], read: readonly ReadSubset[]): FoundDamage[] {
  const told = new Set(read.flatMap(({ damage }) => damage.map(({ path }) => path)));
  const unread = entries.filter(({ name, isUnreadable }) => isUnreadable === true && !told.has(name));
  return unread.map(({ name }) => toLost('document-unreadable', name, undefined));
}

function toLost(fault: XdmFault, path: string, entry: DocumentEntry | undefined): FoundDamage {
  return { fault, file: undefined, path, uniqueId: entry?.uniqueId };
}

function toDamage(fault: XdmFault, file: ZipEntry, entry: DocumentEntry | undefined): FoundDamage {
  return { fault, file, path: file.name, uniqueId: entry?.uniqueId };
}

/** What a viewer is made of, next to the documents. */
const viewerTypes: ReadonlySet<string> = new Set([
  'text/html',
  'image/gif',
  'image/jpeg',
  'image/png',
  'application/octet-stream',
]);

/**
 * In a package without any document in its place, every other file is one; else those outside of all subsets
 * that are no part of a viewer.
 */
function strayDocuments(
  entries: readonly ZipEntry[],
  inPlace: readonly PlacedDocument[],
  warnings: Set<XdmWarning>,
): PlacedDocument[] {
  const placed = new Set(inPlace.map(({ file }) => file));
  const isOfViewer = ({ name }: ZipEntry): boolean =>
    placed.size > 0 && (viewerTypes.has(mediaTypeOfName(name)) || /\.xslt?$/i.test(name));
  const files = entries.filter(
    (entry) =>
      !placed.has(entry) &&
      !isMetadata(entry.name) &&
      !isCover(entry.name) &&
      entry.isUnreadable !== true &&
      !isOfViewer(entry),
  );
  if (files.length > 0) warnings.add('document-without-metadata');
  return files.map((file) => ({ file, document: toDocument(file, undefined, directoryOf(file.name)) }));
}

const slashlessName = /^(.*\/)?(IHE_XDM\/SUBSET\d\d)([^/]+)$/i;

/** The Java reference implementation writes `IHE_XDM/SUBSET01METADATA.xml`. */
function repairName(entry: ZipEntry, warnings: Set<XdmWarning>): ZipEntry {
  const match = slashlessName.exec(entry.name);
  if (match === null) return entry;
  warnings.add('layout-repaired');
  return { ...entry, name: `${match[1] ?? ''}${match[2]}/${match[3]}` };
}

const junkFiles: ReadonlySet<string> = new Set(['.ds_store', 'thumbs.db', 'desktop.ini']);

function isJunk(name: string): boolean {
  const [fileName = '', ...directories] = name.toLowerCase().split('/').toReversed();
  return junkFiles.has(fileName) || fileName.startsWith('._') || directories.includes('__macosx');
}

/**
 * Every file is in one subset at most, or a small package of nested directories would have its documents
 * hundreds of times.
 */
function findSubsets(entries: readonly ZipEntry[]): Subset[] {
  const hasMetadata = new Map<string, boolean>();
  for (const { name } of entries) {
    const path = subsetDirectory(name) ?? (isMetadata(name) ? directoryOf(name) : undefined);
    if (path !== undefined) hasMetadata.set(path, hasMetadata.get(path) === true || isMetadata(name));
  }
  if (hasMetadata.size === 0) hasMetadata.set('', false);
  const inside = Map.groupBy(entries, ({ name }) => findOwner(name, hasMetadata));
  return [...hasMetadata.keys()].toSorted().map((path) => {
    const members = inside.get(path) ?? [];
    const files = members.filter((entry) => !isMetadata(entry.name) && !isCover(entry.name));
    return { path, metadata: members.find((entry) => isMetadata(entry.name)), files };
  });
}

/** `IHE_XDM/SUBSET01` of a file in it or below. */
function subsetDirectory(name: string): string | undefined {
  return /^(?:.*\/)?IHE_XDM\/[^/]+(?=\/)/i.exec(name)?.[0];
}

/**
 * The directory nearest to the file that has metadata, else the nearest subset; undefined for a file outside
 * of all.
 */
function findOwner(name: string, hasMetadata: ReadonlyMap<string, boolean>): string | undefined {
  const above: string[] = [];
  for (let path = directoryOf(name); path !== ''; path = directoryOf(path)) above.push(path);
  const subsets = [...above, ''].filter((path) => hasMetadata.has(path));
  return subsets.find((path) => hasMetadata.get(path)) ?? subsets[0];
}

function isMetadata(name: string): boolean {
  return baseName(name).toUpperCase() === 'METADATA.XML';
}

/** Cover files stand at the root of a package; inside a subset those names would be documents. */
function isCover(name: string): boolean {
  return /^(?:INDEX\.HTML?|README\.TXT)$/i.test(baseName(name)) && !/IHE_XDM\//i.test(name);
}

interface ReadSubset {
  readonly metadata: XdmMetadata | undefined;
  readonly documents: readonly PlacedDocument[];
  readonly damage: readonly FoundDamage[];
}

function readSubset(
  subset: Subset,
  readsMetadata: boolean,
  { limits, warnings }: { readonly limits: XdmLimits; readonly warnings: Set<XdmWarning> },
): ReadSubset {
  const bytes = subset.metadata?.isUnreadable === true ? undefined : subset.metadata?.content;
  const metadata = bytes === undefined || !readsMetadata ? undefined : readMetadata(bytes);
  const damage: FoundDamage[] = [];
  if (metadata === undefined) damage.push(damagedMetadata(subset));
  const entries = metadata?.documents.slice(0, limits.maxEntries) ?? [];
  const files = createFileIndex(subset);
  const members = new Set(metadata?.memberIds);
  const described: PlacedDocument[] = [];
  for (const entry of entries) {
    const file = files.take(entry, entries.length === 1);
    if (file === undefined) {
      damage.push(toLost('document-missing', entry.uri ?? '', entry));
      continue;
    }
    if (file.isUnreadable === true) {
      damage.push(toLost('document-unreadable', file.name, entry));
      continue;
    }
    const isWhole = entry.hash === undefined ? undefined : files.hasHash(file, entry.hash);
    if (isWhole === false) damage.push(toDamage('hash-mismatch', file, entry));
    if (entry.sizeBytes !== undefined && entry.sizeBytes !== file.content.length) {
      // A wrong size next to the right hash is a slip of the sender's program, and no damage.
      if (isWhole === true) warnings.add('size-mismatch');
      else damage.push(toDamage('size-mismatch', file, entry));
    }
    if (!members.has(entry.entryId)) warnings.add('association-missing');
    described.push({ file, document: toDocument(file, entry, subset.path) });
  }
  const rest = files.rest().filter(({ isUnreadable }) => isUnreadable !== true);
  if (rest.length > 0) warnings.add('document-without-metadata');
  return {
    metadata,
    documents: [
      ...described,
      ...rest.map((file) => ({ file, document: toDocument(file, undefined, subset.path) })),
    ],
    damage,
  };
}

function damagedMetadata({ metadata, path }: Subset): FoundDamage {
  return metadata === undefined
    ? { fault: 'metadata-missing', file: undefined, path, uniqueId: undefined }
    : toDamage('metadata-unreadable', metadata, undefined);
}

interface FileIndex {
  /**
   * The file of an entry, once: by URI, in any case and percent-encoded or not; else by hash; else the one
   * file there is.
   */
  take(entry: DocumentEntry, isOnly: boolean): ZipEntry | undefined;
  /**
   * Whether it is that of the file; undefined for a value of no form that is known, which says nothing.
   */
  hasHash(file: ZipEntry, hash: string): boolean | undefined;
  /** The entries that were not claimed. */
  rest(): ZipEntry[];
}

function createFileIndex({ path, files }: Subset): FileIndex {
  const left = new Set(files);
  const prefixLength = path === '' ? 0 : path.length + 1;
  const byName = new Map(
    files.toReversed().map((file) => [file.name.slice(prefixLength).toLowerCase(), file]),
  );
  const byBaseName = new Map(files.toReversed().map((file) => [baseName(file.name).toLowerCase(), file]));
  // Computed once for each file, since hostile metadata may name files thousands of times.
  const hashes = new Map<string, string>();
  const hashOf = (file: ZipEntry, algorithm: string): string => {
    const key = `${algorithm} ${file.name}`;
    const hash = hashes.get(key) ?? createHash(algorithm).update(file.content).digest('hex');
    hashes.set(key, hash);
    return hash;
  };
  let byHash: Map<string, ZipEntry> | undefined;
  const candidates = function* (entry: DocumentEntry, isOnly: boolean): Generator<ZipEntry | undefined> {
    const uri = plainUri(entry.uri ?? '');
    yield byName.get(uri);
    yield byBaseName.get(baseName(uri));
    byHash ??= new Map(files.map((file) => [hashOf(file, 'sha1'), file]));
    yield byHash.get(entry.hash ?? '');
    if (isOnly && left.size === 1) yield [...left][0];
  };
  return {
    hasHash(file, hash) {
      const algorithm = /^[\da-f]+$/.test(hash) ? algorithms[hash.length] : undefined;
      return algorithm === undefined ? undefined : hashOf(file, algorithm) === hash;
    },
    rest: () => [...left],
    take: (entry, isOnly) => {
      for (const file of candidates(entry, isOnly)) {
        if (file !== undefined && left.delete(file)) return file;
      }
      return undefined;
    },
  };
}

/** By the number of hexadecimal digits: the SHA-1 of IHE, and what some senders write instead. */
const algorithms: Readonly<Record<number, string>> = {
  40: 'sha1',
  64: 'sha256',
  96: 'sha384',
  128: 'sha512',
};

function plainUri(uri: string): string {
  const text = uri
    .replaceAll('\\', '/')
    .replace(/^(?:\.?\/)+/, '')
    .toLowerCase();
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function toDocument(file: ZipEntry, entry: DocumentEntry | undefined, subset: string): XdmDocument {
  const fileName = cleanFileName(file.name);
  const mimeType = entry?.mimeType ?? '';
  return {
    mediaType: /^[\w.+-]+\/[\w.+-]+$/.test(mimeType) ? mimeType : mediaTypeOfName(fileName),
    fileName: fileName === '' ? 'document' : fileName,
    title: entry?.title ?? fileName,
    content: file.content,
    typeCode: entry?.typeCode,
    subset,
    entry,
  };
}

/**
 * Limited if marked so, or if a document lacks one of the attributes that even careless senders of full
 * metadata give.
 */
function levelOf(metadata: readonly XdmMetadata[]): XdmPackage['metadataLevel'] {
  if (metadata.length === 0) return undefined;
  const documents = metadata.flatMap((one) => one.documents);
  const isMarked =
    documents.some((entry) => entry.isLimited) ||
    metadata.some((one) => one.submissionSet?.isLimited === true);
  const isLacking = documents.some(
    (entry) =>
      entry.patientId === undefined || entry.creationTime === undefined || entry.typeCode === undefined,
  );
  return isMarked || isLacking ? 'limited' : 'full';
}

function baseName(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

function directoryOf(name: string): string {
  return name.slice(0, Math.max(name.lastIndexOf('/'), 0));
}
