import { Readable } from 'node:stream';
import { countOf, errorCode } from '../../../core/index.ts';
import { addressKey, domainOf, findDirectAddress, type DirectAddress } from '../../../lib/values/index.ts';
import { loadBuiltInGazetteer } from '../../../lib/geo/index.ts';
import { findHoldsOn } from '../../../service/legal-hold/index.ts';
import { listUnread } from '../../../service/messaging/index.ts';
import { importAddresses } from '../../../service/hosting/index.ts';
import { everything, isOwned } from '../../../service/organizations/index.ts';
import { requireHostedDomain } from '../../../service/trust/index.ts';
import {
  addressAnswer,
  addressDetails,
  addressFile,
  addressPage,
  addressPut,
  addressQuery,
  addressReport,
  newForwarding,
  type AddressAnswer,
  type AddressEntry,
  type AddressReport,
} from '../contract/index.ts';
import { ConsoleError, invalidField } from '../errors.ts';
import { route } from '../route.ts';
import type { ConsoleRoutes, ConsoleServices } from '../types.ts';
import type { Acting } from './acting.ts';
import { cursorsOf } from './cursors.ts';
import { isoOrNull, readTime, toLegalHold } from './formats.ts';

const cursors = cursorsOf('addresses', /^[^\s@]{1,64}@[a-z0-9.-]{1,255}$/);
/** About 20,000 rows; `openhisp address import` takes larger files. */
const maxFileBytes = 2_000_000;
const soon = 'A running server lists it within seconds.';

/** Routes of hosted addresses and what the directory shows of them. */
export function addressRoutes(
  { trust, directory, storage, clock, oauth }: ConsoleServices,
  acting: Acting,
): ConsoleRoutes {
  /** Throws CONSOLE_NOT_FOUND. */
  async function requireAddress(text: string) {
    const found = await trust.findAddress(readAddress(text));
    if (found !== undefined) return found;
    throw new ConsoleError('CONSOLE_NOT_FOUND', 'not a hosted address');
  }
  return (app) => {
    route(app, 'get', '/domains/:domain/addresses', {
      needs: 'settings.read',
      scope: ['domain', 'domain'],
      about: ['domains', 'List the addresses of a domain', 'In the order of their names.'],
      query: addressQuery,
      answer: addressPage,
      handle: async (request) => {
        const domain = await requireHostedDomain(trust, request.params.domain);
        const { q = '', status, limit = 50, cursor } = request.query;
        const words = q.toLowerCase().split(/\s+/);
        const all = await trust.listAddresses(domain);
        const unread = new Set(
          status === 'cannot-receive' ? await listUnread({ trust, clients: oauth.clients }, domain) : [],
        );
        const found = all.filter(
          (one) =>
            (status === undefined ||
              one.status === (status === 'active' ? 'active' : 'disabled') ||
              unread.has(one.address)) &&
            words.every((word) => one.address.toLowerCase().includes(word)),
        );
        const after = cursors.read(cursor);
        const rest = after === undefined ? found : found.filter(({ address }) => addressKey(address) > after);
        const result = rest.slice(0, limit);
        const last = result.at(-1);
        return {
          result,
          next: last !== undefined && rest.length > limit ? cursors.write(addressKey(last.address)) : null,
          found: found.length,
          total: all.length,
        };
      },
    });
    route(app, 'get', '/addresses/:address', {
      needs: 'settings.read',
      scope: ['address', 'address'],
      about: ['domains', 'Show a hosted address', 'With what the directory shows of it.'],
      answer: addressDetails,
      handle: async (request) => {
        const { address, status } = await requireAddress(request.params.address);
        const record = await directory.findProvisioned(address);
        const rule = await trust.findForwarding(address);
        // Who keeps mail for a court is the business of whoever runs the HISP.
        const holds =
          request.owned === everything ? await findHoldsOn(storage, { addresses: [address] }) : [];
        return {
          address,
          status,
          isListed: record !== undefined,
          entry: toEntry(record ?? {}),
          forwarding:
            rule === undefined
              ? null
              : {
                  deliverTo: [...rule.deliverTo],
                  keepsCopy: rule.keepsCopy,
                  from: isoOrNull(rule.from),
                  until: isoOrNull(rule.until),
                },
          legalHolds: holds.map(toLegalHold),
        };
      },
    });
    route(app, 'post', '/addresses/import', {
      needs: 'settings.change',
      scope: 'filtered',
      about: [
        'domains',
        'Host the addresses of a CSV file',
        'As `openhisp address import`, with a report of each row; with `preview` nothing is stored.',
      ],
      body: addressFile,
      answer: addressReport,
      refuses: [413],
      maxBodyBytes: maxFileBytes,
      handle: async (request): Promise<AddressReport> => {
        const { csv, preview, isRowByRow, acceptLoss = false } = request.body;
        const services = acting(request);
        const report = await importAddresses(
          {
            storage,
            clock,
            audit: services.audit,
            trust: {
              ...services.trust,
              // The same words for what is another organization's as for what nobody has.
              isHostedDomain: async (domain) =>
                isOwned(request.owned, 'domains', domain) && services.trust.isHostedDomain(domain),
            },
            gazetteer: loadBuiltInGazetteer(),
            findNames: (npi) => directory.findNames(npi),
          },
          Readable.from([Buffer.from(csv)]),
          { isDryRun: preview, isRowByRow, acceptLoss, organizationId: request.owned.organizationId },
        ).catch(nameFile);
        return { ...report, rows: [...report.rows], sentence: describeImport(report, preview) };
      },
    });
    route(app, 'put', '/addresses/:address', {
      needs: 'settings.change',
      scope: ['address', 'address'],
      about: ['domains', 'Add or change a hosted address', 'It is enabled, and its entry is replaced.'],
      body: addressPut,
      answer: addressAnswer,
      refuses: [409],
      handle: async (request): Promise<AddressAnswer> => {
        const services = acting(request);
        const address = readAddress(request.params.address);
        await requireHostedDomain(services.trust, domainOf(address));
        const { isListed, entry = {} } = request.body;
        const before = await services.trust.findAddress(address);
        // Refused for its entry before anything is changed.
        const warnings = isListed
          ? await services.directory.list({ ...entry, directAddress: address }).catch(nameEntry)
          : [];
        if (before?.status !== 'active')
          await services.trust.putAddress(address).catch(async (error: unknown) => {
            // Its organization is closed or full: what is not hosted is not listed.
            if (isListed) await services.directory.unlist(address);
            throw error;
          });
        if (!isListed) await services.directory.unlist(address);
        const verb = before === undefined ? 'hosted' : 'changed';
        return {
          address,
          warnings: [...warnings],
          sentence: `${address} is ${verb}. ${isListed ? soon : 'The directory does not list it.'}`,
        };
      },
    });
    route(app, 'put', '/addresses/:address/forwarding', {
      needs: 'settings.change',
      scope: ['address', 'address'],
      about: [
        'domains',
        'Deliver the mail of an address to others',
        'A shared address, forwarding, or an absence: to other addresses of its organization.',
      ],
      body: newForwarding,
      answer: addressAnswer,
      refuses: [409],
      handle: async (request): Promise<AddressAnswer> => {
        const services = acting(request);
        const { address } = await requireAddress(request.params.address);
        const { deliverTo, keepsCopy = false, ...times } = request.body;
        const from = readTime('from', times.from);
        const until = readTime('until', times.until);
        const isEnd = deliverTo.length === 0;
        await services.trust.setForwarding(
          address,
          isEnd
            ? undefined
            : {
                deliverTo: deliverTo.map((one) => readAddress(one, 'deliverTo')),
                keepsCopy,
                ...(from !== undefined && { from }),
                ...(until !== undefined && { until }),
              },
          request.owned.organizationId,
        );
        return {
          address,
          warnings: [],
          sentence: isEnd
            ? `${address} gets its mail itself again.`
            : `Mail to ${address} goes to ${countOf(deliverTo.length, 'address', 'addresses')} within seconds.`,
        };
      },
    });
    for (const action of ['disable', 'enable'] as const)
      route(app, 'post', `/addresses/:address/${action}`, {
        needs: 'settings.change',
        scope: ['address', 'address'],
        about: [
          'domains',
          action === 'disable' ? 'Disable a hosted address' : 'Enable a hosted address',
          action === 'disable'
            ? 'Its mail is refused, and the directory no longer lists it.'
            : 'Its mail is accepted again; the directory lists it after its entry is saved.',
        ],
        answer: addressAnswer,
        refuses: [409],
        handle: async (request): Promise<AddressAnswer> => {
          const services = acting(request);
          const { address } = await requireAddress(request.params.address);
          await services.trust.putAddress(address, action === 'disable' ? 'disabled' : 'active');
          if (action === 'disable') await services.directory.unlist(address);
          return { address, warnings: [], sentence: sentenceOf(address, action) };
        },
      });
  };
}

/** Throws CONSOLE_REQUEST_INVALID, which names the field. */
function readAddress(text: string, field = 'address'): DirectAddress {
  const address = findDirectAddress(text.trim());
  if (address !== undefined) return address;
  throw invalidField(field, 'Not a Direct address such as name@direct.clinic.example.');
}

/** What is wrong with a file as a whole. */
function nameFile(error: unknown): never {
  const codes = ['DIRECTORY_FILE_BROKEN', 'TRUST_DOMAIN_UNKNOWN'];
  if (error instanceof RangeError || codes.includes(errorCode(error) ?? ''))
    throw invalidField('csv', error instanceof Error ? error.message : 'The file cannot be read.', error);
  throw error;
}

function describeImport(
  { counts, loss, isStored }: Pick<AddressReport, 'counts' | 'loss' | 'isStored'>,
  isPreview: boolean,
): string {
  const parts = (['added', 'changed', 'unchanged', 'refused'] as const).map(
    (outcome) => `${counts[outcome]} ${outcome}`,
  );
  const text = parts.join(', ');
  if (isPreview) return `Would be: ${text}.${loss === undefined ? '' : ` ${loss}.`}`;
  if (isStored) return `Stored: ${text}.`;
  return `Nothing is stored: ${loss ?? `${countOf(counts.refused, 'row is', 'rows are')} refused`}.`;
}

/** The reason of a refused entry, which has no field. */
function nameEntry(error: unknown): never {
  if (!(error instanceof Error) || errorCode(error) !== 'DIRECTORY_RECORD_INVALID') throw error;
  throw invalidField(error.message.includes('NPI') ? 'entry.npi' : 'entry', error.message);
}

function sentenceOf(address: DirectAddress, action: 'disable' | 'enable'): string {
  return action === 'disable'
    ? `${address} is disabled: its mail is refused, and the directory does not list it.`
    : `${address} is enabled: its mail is accepted.`;
}

const entryFields = [
  'npi',
  'firstName',
  'middleName',
  'lastName',
  'suffix',
  'organization',
  'specialty',
  'street',
  'city',
  'state',
  'zip',
  'phone',
] as const satisfies readonly (keyof AddressEntry)[];

function toEntry(record: Partial<Record<string, unknown>>): AddressEntry {
  return Object.fromEntries(
    entryFields.flatMap((field) => {
      const value = record[field];
      return typeof value === 'string' && value !== '' ? [[field, value]] : [];
    }),
  );
}
